module

public import KShell.Rules.Phase
public import KShell.Rules.Grid

/-!
# A kernel with shared memory and a barrier

Each block reverses its 256 elements through a shared array. The proof has one obligation a phase, about
one symbolic thread; the owners of the shared cells change at the barrier.
-/

@[expose] public section
noncomputable section
namespace KShell.Tests.Shared
open KShell
open scoped Classical

/-- `blockIdx.x * 256 + e`. -/
abbrev at_ (e : IExpr) : IExpr := .bin .add .i32 (.bin .mul .i32 (.special .bid .x) (.lit 256 .i32)) e

/-- `s[t] = x[256 b + t]; __syncthreads(); y[256 b + t] = s[255 - t];` -/
def body : Stmt :=
  .seq (.load 0 0 (at_ (.special .tid .x))) <|
  .seq (.store 2 (.special .tid .x) (.var 0)) <|
  .seq .barrier <|
  .seq (.load 1 2 (.bin .sub .i32 (.lit 255 .i32) (.special .tid .x))) <|
  .store 1 (at_ (.special .tid .x)) (.var 1)

/-- 8 blocks of 256 threads. -/
def launch : Launch where
  kernel := ⟨[⟨.global, 2048⟩, ⟨.global, 2048⟩, ⟨.shared, 256⟩], body⟩
  grid := ⟨8, 1, 1⟩
  block := ⟨256, 1, 1⟩

/-- `y[r, c] = x[r, 255 - c]`. -/
def output : OutputSpec where
  buffer := 1
  vars := [(0, 8), (1, 256)]
  body := .read 0 [8, 256] [.var 0, .bin .sub (.lit 255) (.var 1)]

variable {R : Type} [ExactReal R]

theorem output_denote (x : Nat → Int → R) (i : Int) :
    output.denote x i = x 0 (i / 256 * 256 + (255 - i % 256)) := by
  simp [output, OutputSpec.denote, SExpr.denote, flatIndex, Ix.denote, unflatten, bindIx, IxOp.fn]

/-- The block that owns an output cell. -/
def gown (a : Nat) (i : Int) : Option Nat := if a = 1 then some (i / 256).toNat else none

/-- Before the barrier thread `t` owns `s[t]`. -/
def own1 (a : Nat) (i : Int) : Option Nat := if a = 2 then some i.toNat else none

/-- After it, `y[256 b + t]`, and nobody writes the shared array. -/
def own2 (a : Nat) (i : Int) : Option Nat := if a = 1 then some (i % 256).toNat else none

theorem size0 : launch.size 0 = 2048 := rfl
theorem size1 : launch.size 1 = 2048 := rfl
theorem size2 : launch.size 2 = 256 := rfl
theorem space0 : launch.space 0 = .global := rfl
theorem space1 : launch.space 1 = .global := rfl
theorem space2 : launch.space 2 = .shared := rfl
theorem block_eq : launch.block = ⟨256, 1, 1⟩ := rfl
theorem grid_eq : launch.grid = ⟨8, 1, 1⟩ := rfl

theorem phase1 (x : Int → R) (M : Mem R) (b t : Nat) (r : Reg R) (hb : b < 8) (ht : t < 256)
    (hx : ∀ i : Int, 0 ≤ i → i < 2048 → M 0 i = some (.fin (x i))) :
    (Stmt.seqs [.load 0 0 (at_ (.special .tid .x)), .store 2 (.special .tid .x) (.var 0)]).wp (launch.env b t)
      (threadPerm launch gown b own1 t) (fun σ => σ.mem 2 (t : Int) = some (.fin (x (b * 256 + t)))) ⟨r, M⟩ := by
  have e1 : (t : Int) % 256 = t := by omega
  have e2 : (b : Int) % 8 = b := by omega
  simp (disch := omega) [Stmt.seqs, Launch.env, size0, size2, space0, space2, block_eq, grid_eq,
    Dim3.coord, threadPerm, blockVis, blockWr, gown, own1, hx, Mem.set, e1, e2]
  omega

theorem phase2 (x : Int → R) (M : Mem R) (b t : Nat) (r : Reg R) (hb : b < 8) (ht : t < 256)
    (hs : ∀ i : Int, 0 ≤ i → i < 256 → M 2 i = some (.fin (x (b * 256 + i)))) :
    (Stmt.seqs [.load 1 2 (.bin .sub .i32 (.lit 255 .i32) (.special .tid .x)),
      .store 1 (at_ (.special .tid .x)) (.var 1)]).wp (launch.env b t) (threadPerm launch gown b own2 t)
      (fun σ => σ.mem 1 (b * 256 + t : Int) = some (.fin (x (b * 256 + (255 - t))))) ⟨r, M⟩ := by
  have e1 : (t : Int) % 256 = t := by omega
  have e2 : (b : Int) % 8 = b := by omega
  simp (disch := omega) [Stmt.seqs, Launch.env, size1, size2, space1, space2, block_eq, grid_eq,
    Dim3.coord, threadPerm, blockVis, blockWr, gown, own2, hs, Mem.set, e1, e2]
  omega

theorem reverse_correct : Correct R [launch] [(0, 2048)] [output] [] := by
  intro x M hM
  have hx : ∀ i : Int, 0 ≤ i → i < 2048 → M 0 i = some (.fin (x 0 i)) := hM (0, 2048) (by simp)
  refine grid_rule (by decide) gown
    (fun b Mb => ∀ t : Nat, t < 256 → Mb 1 (b * 256 + t : Int) = some (.fin (x 0 (b * 256 + (255 - t))))) ?_ ?_
  · intro b hb regs _
    have hb : b < 8 := hb
    have hx0 : ∀ i : Int, 0 ≤ i → i < 2048 → launch.initial M 0 i = some (.fin (x 0 i)) := by
      intro i h0 h1; simp [Launch.initial, launch, Launch.space, hx i h0 h1]
    refine kernel_cut [.load 0 0 (at_ (.special .tid .x)), .store 2 (.special .tid .x) (.var 0)]
      [.load 1 2 (.bin .sub .i32 (.lit 255 .i32) (.special .tid .x)), .store 1 (at_ (.special .tid .x)) (.var 1)] ?_
    refine kernel_seq (block_phase_threads hb (by decide) own1
      (fun t σ => σ.mem 2 (t : Int) = some (.fin (x 0 (b * 256 + t))))
      (fun t ht => phase1 (x 0) _ b t _ hb ht hx0) ?_)
    intro β ⟨H1, _⟩
    refine kernel_phase_threads hb own2
      (fun t σ => σ.mem 1 (b * 256 + t : Int) = some (.fin (x 0 (b * 256 + (255 - t)))))
      (fun t ht => phase2 (x 0) _ b t _ hb ht ?_) ?_
    · intro i h0 h1
      obtain ⟨σ, h2, _, h3⟩ := H1 i.toNat (show i.toNat < 256 by omega)
      have h2 : σ.mem 2 ((i.toNat : Nat) : Int) = some (.fin (x 0 (b * 256 + ((i.toNat : Nat) : Int)))) := h2
      rw [Int.toNat_of_nonneg h0] at h2
      rw [h3 2 i (by simp [own1]), h2]
    · intro β' ⟨H2, _⟩ t ht
      obtain ⟨σ, h2, _, h3⟩ := H2 t ht
      rw [h3 1 _ (by simp [own2]; omega), h2]
  · intro M' H1 H2
    refine ⟨fun o ho i hi0 hi => ?_, fun a i ha _ => H2 a i (.inr fun b _ => by
      simp [gown]; intro h; exact absurd (by simp [h, output]) ha)⟩
    simp only [List.mem_singleton] at ho; subst ho
    have hi : i < 2048 := hi
    rw [output_denote]
    obtain ⟨Mb, h1, h2⟩ := H1 (i / 256).toNat (show (i / 256).toNat < 8 by omega)
    have e : i = ((i / 256).toNat : Int) * 256 + ((i % 256).toNat : Int) := by omega
    have h3 := h1 (i % 256).toNat (by omega)
    rw [← e] at h3
    show M' 1 i = _
    rw [h2 1 i (by simp [launch, Launch.space]) (by simp [gown]), h3]
    congr 3; omega

end KShell.Tests.Shared
