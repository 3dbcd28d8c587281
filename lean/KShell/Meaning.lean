module

public import KShell.Eval
public import KShell.Machine

/-!
# Meaning of kernels and launches

The trusted bridge from syntax to machine: the tree of a statement, the start of a launch, and what it
means that every run of a sequence of launches is correct.
-/

@[expose] public section
noncomputable section
namespace KShell
open scoped Classical

variable {R : Type} [ExactReal R]

/-- A cell: the block of a shared array or `none`, the array, the index. -/
abbrev Cell := Option Nat × Nat × Int

/-- Index of the source lane of a shuffle; `none` where the argument is undefined. Lanes outside the
segment of `width` lanes give the own value. -/
def ShflKind.source (kind : ShflKind) (width lane : Nat) (arg : Int) : Option Nat :=
  let base := lane / width * width
  if arg < 0 ∨ width = 0 ∨ 32 < width then none else
  match kind with
  | .idx => if base + arg.toNat % width < 32 then some (base + arg.toNat % width) else none
  | .up => some (if base + arg.toNat ≤ lane then lane - arg.toNat else lane)
  | .down => some (if lane + arg.toNat < base + width ∧ lane + arg.toNat < 32 then lane + arg.toNat else lane)
  | .xor => if arg < width ∧ lane ^^^ arg.toNat < 32 then some (lane ^^^ arg.toNat) else none

/-- Number of collectives in a statement: the sites it occupies. -/
def Stmt.sites : Stmt → Nat
  | .seq a b | .ite _ a b => a.sites + b.sites
  | .while _ body => body.sites
  | .barrier | .syncwarp | .shfl _ _ _ _ _ => 1
  | _ => 0

/-- At most `n` tests of a loop. -/
def loopTree {σ τ : Type} (fault : τ) (cond : σ → Option Bool) (body : (σ → τ) → σ → τ) :
    Nat → (σ → τ) → σ → τ
  | 0, _, _ => fault
  | n + 1, k, r =>
    match cond r with
    | some true => body (loopTree fault cond body n k) r
    | some false => k r
    | none => fault

/-- Where a thread runs: its environment, lane, block, and the spaces of the arrays. -/
structure Place (R : Type) where
  /-- Environment of the thread. -/
  env : Env R
  /-- Lane in its warp. -/
  lane : Nat
  /-- Block number. -/
  block : Nat
  /-- Space of each array. -/
  space : Nat → Space

/-- The cell of an element of a global or shared array, as the block at `P` sees it. -/
def Place.cell (P : Place R) (a : Nat) (i : Int) : Cell :=
  (if P.space a = .shared then some P.block else none, a, i)

/-- Index `i` is in the bounds of array `a`. -/
def Place.inBounds (P : Place R) (a : Nat) (i : Int) : Prop := 0 ≤ i ∧ i < P.env.size a

/-- The tree of a statement: `fuel` bounds the tests of every loop, `site` numbers its first
collective, `k` is what happens afterwards. -/
def Stmt.tree (P : Place R) (fuel : Nat) :
    Stmt → Nat → (Reg R → Tree Cell (Ext R)) → Reg R → Tree Cell (Ext R)
  | .skip, _, k, r => k r
  | .seq a b, n, k, r => a.tree P fuel n (b.tree P fuel (n + a.sites) k) r
  | .seti v e, _, k, r =>
    match e.eval P.env r with
    | some x => k (r.setI v x)
    | none => .fault
  | .setr v e, _, k, r =>
    match e.eval P.env r with
    | some x => k (r.setR v x)
    | none => .fault
  | .load v a i, _, k, r =>
    match i.eval P.env r with
    | some j => if P.inBounds a j then .load (P.cell a j) fun x => k (r.setR v x) else .fault
    | none => .fault
  | .store a i e, _, k, r =>
    match i.eval P.env r, e.eval P.env r with
    | some j, some x => if P.inBounds a j then .store (P.cell a j) x (k r) else .fault
    | _, _ => .fault
  | .lload v a i, _, k, r =>
    match i.eval P.env r with
    | some j =>
      if P.inBounds a j then
        match r.loc a j with
        | some x => k (r.setR v x)
        | none => .fault
      else .fault
    | none => .fault
  | .lstore a i e, _, k, r =>
    match i.eval P.env r, e.eval P.env r with
    | some j, some x => if P.inBounds a j then k (r.setL a j x) else .fault
    | _, _ => .fault
  | .ite c a b, n, k, r =>
    match c.eval P.env r with
    | some true => a.tree P fuel n k r
    | some false => b.tree P fuel (n + a.sites) k r
    | none => .fault
  | .while c body, n, k, r => loopTree .fault (c.eval P.env) (body.tree P fuel n) fuel k r
  | .barrier, n, k, r => .bar n (k r)
  | .syncwarp, n, k, r => .sync n (k r)
  | .shfl kind d s arg width, n, k, r =>
    match arg.eval P.env r with
    | some j =>
      match kind.source width P.lane j with
      | some l => .shfl n (r.rv s) fun xs => k (r.setR d (xs l))
      | none => .fault
    | none => .fault
  | .check c, _, k, r =>
    match c.eval P.env r with
    | some true => k r
    | _ => .fault

/-- Coordinate of a linear number in a grid or a block, x fastest. -/
def Dim3.coord (d : Dim3) (n : Int) : Dim → Int
  | .x => n % d.x
  | .y => n / d.x % d.y
  | .z => n / (d.x * d.y)

/-- Integer value of an argument. -/
def Arg.toInt : Arg → Int
  | .int n => n
  | .rat _ _ => 0

/-- Scalar value of an argument. -/
def Arg.toReal : Arg → R
  | .int n => ofInt n
  | .rat num den => ofRat num den

namespace Launch
variable (L : Launch)

/-- Space of array `a`. -/
def space (a : Nat) : Space := ((L.kernel.arrays[a]?).getD ⟨.global, 0⟩).space

/-- Number of elements of array `a`. -/
def size (a : Nat) : Int := ((L.kernel.arrays[a]?).getD ⟨.global, 0⟩).size

/-- Environment of thread `t` of block `b`, both linear numbers. -/
def env (b t : Int) : Env R where
  special
    | .tid, d => L.block.coord t d
    | .bid, d => L.grid.coord b d
    | .bdim, d => L.block.get d
    | .gdim, d => L.grid.get d
  iparam p := ((L.args[p]?).getD (.int 0)).toInt
  rparam p := ((L.args[p]?).getD (.int 0)).toReal
  size := L.size

/-- Number of warps of a block; the last one may be partial. -/
def warps : Nat := (L.block.count + 31) / 32

/-- The cell of element `i` of array `a` as block `b` sees it. -/
def cell (b a : Nat) (i : Int) : Cell := (if L.space a = .shared then some b else none, a, i)

/-- Where lane `l` of warp `w` of block `b` runs. -/
def place (b w l : Nat) : Place R where
  env := L.env b (32 * w + l : Nat)
  lane := l
  block := b
  space := L.space

/-- Start of the launch: every thread at the beginning of the kernel with arbitrary registers and
uninitialised local arrays, lanes beyond the block size exited, shared arrays uninitialised, global arrays
as in `M`. -/
def start (fuel : Nat) (regs : Nat → Nat → Nat → Reg R) (M : Nat → Int → Option (Ext R)) :
    Config Cell (Ext R) where
  thread b w l :=
    if 32 * w + l < L.block.count then
      L.kernel.body.tree (L.place b w l) fuel 0 (fun _ => .ret)
        { regs b w l with loc := fun _ _ => none }
    else .ret
  mem
    | (none, a, i) => M a i
    | (some _, _, _) => none
  log := .empty

/-- The limits of the launch: CUDA's on grid and block sizes, 48 KiB of shared memory with 4-byte
elements. -/
def Valid : Prop :=
  0 < L.grid.x ∧ L.grid.x ≤ 2147483647 ∧ 0 < L.grid.y ∧ L.grid.y ≤ 65535 ∧ 0 < L.grid.z ∧
  L.grid.z ≤ 65535 ∧ 0 < L.block.x ∧ L.block.x ≤ 1024 ∧ 0 < L.block.y ∧ L.block.y ≤ 1024 ∧
  0 < L.block.z ∧ L.block.z ≤ 64 ∧ L.block.count ≤ 1024 ∧
  4 * (L.kernel.arrays.map fun a => if a.space = .shared then a.size else 0).sum ≤ 49152

instance : Decidable L.Valid := by unfold Valid; infer_instance

/-- Every run of the launch from global memory `M` is finite, meets no fault, no data race and no
deadlock, and ends in a global memory that satisfies `Q`. Any fuel from some bound on will do: the loops
of the kernel end by themselves. -/
def Runs (Q : (Nat → Int → Option (Ext R)) → Prop) (M : Nat → Int → Option (Ext R)) : Prop :=
  L.Valid ∧ ∀ regs, ∃ bound, ∀ fuel, bound ≤ fuel → ∀ s,
    Steps L.grid.count L.warps (L.start fuel regs M) s →
      Terminates L.grid.count L.warps s ∧
      ¬ Faulty L.grid.count L.warps s ∧
      ¬ Racing L.grid.count L.warps s ∧
      (Finished L.grid.count L.warps s ∨ ∃ t, Step L.grid.count L.warps s t) ∧
      (Finished L.grid.count L.warps s → Q fun a i => s.mem (none, a, i))

end Launch

/-- Every run of the launches one after the other, from global memory `M`, is correct and ends in `Q`. -/
def RunsAll (Q : (Nat → Int → Option (Ext R)) → Prop) :
    List Launch → (Nat → Int → Option (Ext R)) → Prop
  | [], M => Q M
  | L :: Ls, M => L.Runs (RunsAll Q Ls) M

end KShell
