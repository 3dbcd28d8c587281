module

public import KShell.Meaning
public import KShell.Scalar.Model

/-!
# The meaning of expressions and of the machine, by evaluation

Each `example` is one fact about C or CUDA that the trusted definitions must reproduce.
-/

@[expose] public section
noncomputable section
namespace KShell.Tests.Semantics
open KShell

/-- Registers that hold their own numbers. -/
def reg : Reg Rat := ⟨fun v => v, fun _ => .ninf, fun _ _ => none⟩

/-- An environment of thread 5 of block 2 with 64 threads a block. -/
def env : Env Rat where
  special
    | .tid, .x => 5
    | .bid, .x => 2
    | .bdim, .x => 64
    | _, _ => 1
  iparam p := 100 + p
  rparam _ := 0
  size _ := 0

/-- Literal of type `int`. -/
abbrev i32 (n : Int) : IExpr := .lit n .i32

/-! Integers: truncating division, overflow of each type, shifts and bit operations. -/

example : (IExpr.bin .div .i32 (i32 (-7)) (i32 2)).eval env reg = some (-3) := by rfl
example : (IExpr.bin .mod .i32 (i32 (-7)) (i32 2)).eval env reg = some (-1) := by rfl
example : (IExpr.bin .div .i32 (i32 1) (i32 0)).eval env reg = none := by rfl
example : (IExpr.bin .mod .i32 (i32 1) (i32 0)).eval env reg = none := by rfl
example : (IExpr.bin .add .i32 (i32 2147483647) (i32 1)).eval env reg = none := by rfl
example : (IExpr.bin .add .i64 (.lit 2147483647 .i64) (.lit 1 .i64)).eval env reg = some 2147483648 := by rfl
example : (IExpr.bin .sub .u32 (.lit 0 .u32) (.lit 1 .u32)).eval env reg = none := by rfl
example : (IExpr.bin .mul .u32 (.lit 65536 .u32) (.lit 65536 .u32)).eval env reg = none := by rfl
example : (IExpr.bin .div .i32 (i32 (-2147483648)) (i32 (-1))).eval env reg = none := by rfl
example : (IExpr.bin .mod .i32 (i32 (-2147483648)) (i32 (-1))).eval env reg = none := by rfl
example : (IExpr.bin .shl .i32 (i32 3) (i32 4)).eval env reg = some 48 := by rfl
example : (IExpr.bin .shr .i32 (i32 48) (i32 4)).eval env reg = some 3 := by rfl
example : (IExpr.bin .shl .i32 (i32 1) (i32 32)).eval env reg = none := by rfl
example : (IExpr.bin .shl .i32 (i32 (-1)) (i32 1)).eval env reg = none := by rfl
example : (IExpr.bin .land .i32 (i32 12) (i32 10)).eval env reg = some 8 := by rfl
example : (IExpr.bin .lor .i32 (i32 12) (i32 10)).eval env reg = some 14 := by rfl
example : (IExpr.bin .lxor .i32 (i32 12) (i32 10)).eval env reg = some 6 := by rfl
example : (IExpr.bin .land .i32 (i32 (-1)) (i32 10)).eval env reg = none := by rfl
example : (IExpr.bin .min .i32 (i32 4) (i32 (-3))).eval env reg = some (-3) := by rfl
example : (IExpr.cast .u32 (i32 (-1))).eval env reg = none := by rfl
example : (IExpr.cast .i64 (i32 (-1))).eval env reg = some (-1) := by rfl
example : (IExpr.bin .add .i32 (.bin .mul .i32 (.special .bid .x) (.special .bdim .x)) (.special .tid .x)).eval env reg
    = some 133 := by rfl
example : (IExpr.param 2).eval env reg = some 102 := by rfl

/-! Only the chosen side of a choice is evaluated; `&&` and `||` stop early. -/

/-- Undefined. -/
abbrev bad : IExpr := .bin .div .i32 (i32 1) (i32 0)

example : (IExpr.select (.lit true) (i32 1) bad).eval env reg = some 1 := by rfl
example : (IExpr.select (.lit false) (i32 1) bad).eval env reg = none := by rfl
example : (BExpr.and (.lit false) (.icmp .lt bad (i32 0))).eval env reg = some false := by rfl
example : (BExpr.and (.lit true) (.icmp .lt bad (i32 0))).eval env reg = none := by rfl
example : (BExpr.or (.lit true) (.icmp .lt bad (i32 0))).eval env reg = some true := by rfl
example : (BExpr.not (.icmp .le (i32 2) (i32 1))).eval env reg = some true := by rfl

/-! Scalars: -infinity, undefined arithmetic, domains. -/

example : (RExpr.bin .max .ninf .ninf).eval env reg = some .ninf := by simp [RExpr.eval, RealOp.defined, RealOp.fn]
example : (RExpr.bin .sub .ninf .ninf).eval env reg = none := by simp [RExpr.eval, RealOp.defined]
example : (RExpr.bin .mul (.lit 0 1) .ninf).eval env reg = none := by simp [RExpr.eval, RealOp.defined]
example : (RExpr.fn .exp .ninf).eval env reg = some (.fin 0) := by simp [RExpr.eval, RealFn.defined, RealFn.fn]
example : (RExpr.fn .neg .ninf).eval env reg = none := by simp [RExpr.eval, RealFn.defined]
example : (RExpr.bin .div (.lit 1 1) (.lit 0 1)).eval env reg = none := by simp [RExpr.eval, RealOp.defined]
example : (RExpr.fn .log (.lit 0 1)).eval env reg = none := by simp [RExpr.eval, RealFn.defined]
example : (RExpr.lit 1 0).eval env reg = none := by simp [RExpr.eval]
example : (BExpr.rcmp .lt .ninf (.lit 0 1)).eval env reg = some true := by simp [BExpr.eval, RExpr.eval, CmpOp.ext]

/-! Shuffles: segments, own value outside, lanes of CUDA. -/

example : ShflKind.xor.source 32 5 16 = some 21 := by rfl
example : ShflKind.down.source 32 5 16 = some 21 := by rfl
example : ShflKind.down.source 32 20 16 = some 20 := by rfl
example : ShflKind.up.source 32 20 16 = some 4 := by rfl
example : ShflKind.up.source 32 3 16 = some 3 := by rfl
example : ShflKind.down.source 8 6 4 = some 6 := by rfl
example : ShflKind.idx.source 8 13 2 = some 10 := by rfl
example : ShflKind.xor.source 8 5 8 = none := by rfl
example : ShflKind.idx.source 32 0 (-1) = none := by rfl

/-! Sites: every collective of the text has its own number. -/

example : (Stmt.seq .barrier (.ite (.lit true) .syncwarp (.seq .barrier .barrier))).sites = 4 := by rfl

/-! Order: a shuffle orders no memory; `__syncwarp` orders a warp; `__syncthreads` orders a block. -/

/-- Lane 0 of warp 0 of block 0 has written `1` to cell `c`. -/
abbrev written (c : Nat) : Log Nat Nat := Log.empty.add c 0 0 0 (.write 1)

example (c : Nat) : (written c).Unordered c 0 0 1 .read :=
  .inl ⟨0, .write 1, by decide, .inr ⟨rfl, rfl, rfl, rfl, rfl⟩, trivial⟩
example (c : Nat) : ¬ ((written c).syncWarp 0 0).Unordered c 0 0 1 .read := by
  rintro (⟨_, _, _, ⟨_, h⟩, _⟩ | ⟨_, _, h0, h | ⟨_, _, h, _⟩, _⟩ | ⟨_, _, h0, h | ⟨_, h, _⟩, _⟩)
  · exact h ⟨rfl, rfl⟩
  · exact h
  · exact h0 h
  · exact h
  · exact h0 h
example (c : Nat) : ((written c).syncWarp 0 0).Unordered c 0 1 0 .read :=
  .inr (.inl ⟨0, .write 1, by decide, .inr ⟨rfl, rfl, rfl, rfl⟩, trivial⟩)
example (c : Nat) : ¬ ((written c).syncBlock 0).Unordered c 0 1 0 .read := by
  rintro (⟨_, _, _, ⟨_, h⟩, _⟩ | ⟨_, _, _, ⟨_, h⟩, _⟩ | ⟨_, _, h0, h | ⟨_, h, _⟩, _⟩)
  · exact h rfl
  · exact h rfl
  · exact h
  · exact h0 h
example (c : Nat) : ((written c).syncBlock 0).Unordered c 1 0 0 .read :=
  .inr (.inr ⟨0, .write 1, by decide, .inr ⟨rfl, rfl, rfl⟩, trivial⟩)
example (c : Nat) : ¬ (written c).Unordered c 0 0 1 (.write 1) := by
  rintro (⟨_, _, _, h | ⟨_, _, _, _, rfl⟩, h1⟩ | ⟨_, _, h0, h | ⟨_, _, h, _⟩, _⟩ | ⟨_, _, h0, h | ⟨_, h, _⟩, _⟩)
  · exact h
  · exact h1 rfl
  · exact h
  · exact h0 h
  · exact h
  · exact h0 h
example (c : Nat) : (written c).Unordered c 0 0 1 (.write 2) :=
  .inl ⟨0, .write 1, by decide, .inr ⟨rfl, rfl, rfl, rfl, rfl⟩, by intro h; cases h⟩

/-! A barrier and `__syncwarp` wait for the threads that have not exited, a shuffle for all lanes. -/

/-- Lane 0 has exited, the others stand at `at_`. -/
def others (at_ : Tree Nat Nat) (l : Nat) : Tree Nat Nat := if l = 0 then .ret else at_

example : AtBar 1 (fun _ => others (.bar 0 .ret)) 0 (fun _ _ => .ret) :=
  ⟨fun w l _ _ => by by_cases h : l = 0 <;> simp [others, h], 0, 1, by decide, by decide, rfl⟩
example : AtSync (others (.sync 0 .ret)) 0 (fun _ => .ret) :=
  ⟨fun l _ => by by_cases h : l = 0 <;> simp [others, h], 1, by decide, rfl⟩
example (k : (Nat → Nat) → Tree Nat Nat) (x k') : ¬ AtShfl (others (.shfl 0 7 k)) 0 x k' := fun h => by
  have := h 0 (by decide)
  simp [others] at this
/-- Nobody waits for a barrier at another place of the text. -/
example : ¬ AtBar 1 (fun _ l => if l = 0 then .bar 1 .ret else .bar 0 .ret) 0 (fun _ _ => (.ret : Tree Nat Nat)) :=
  fun h => by simpa using h.1 0 0 (by decide) (by decide)

end KShell.Tests.Semantics
