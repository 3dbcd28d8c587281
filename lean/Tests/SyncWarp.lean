module

public import KShell.Rules.Grid

/-!
# Owners change at `__syncwarp`

The lanes of a warp reverse a row through shared memory with `__syncwarp` between the store and the load.
`Tests.Race` shows that a shuffle in its place is a data race. A second kernel has all lanes store one
value to one cell.
-/

@[expose] public section
noncomputable section
namespace KShell.Tests.SyncWarp
open KShell
open scoped Classical

/-- `32 * blockIdx.x + threadIdx.x`. -/
abbrev gid : IExpr := .bin .add .i32 (.bin .mul .i32 (.special .bid .x) (.lit 32 .i32)) (.special .tid .x)

/-- `s[t] = x[gid]; __syncwarp(); y[gid] = s[31 - t];` -/
def body : Stmt :=
  .seq (.seq (.load 0 0 gid) (.store 2 (.special .tid .x) (.var 0))) <|
  .seq .syncwarp <|
  .seq (.load 1 2 (.bin .sub .i32 (.lit 31 .i32) (.special .tid .x))) (.store 1 gid (.var 1))

/-- 64 blocks of one warp. -/
def launch : Launch where
  kernel := ⟨[⟨.global, 2048⟩, ⟨.global, 2048⟩, ⟨.shared, 32⟩], body⟩
  grid := ⟨64, 1, 1⟩
  block := ⟨32, 1, 1⟩

/-- `y[r, c] = x[r, 31 - c]`. -/
def output : OutputSpec where
  buffer := 1
  vars := [(0, 64), (1, 32)]
  body := .read 0 [64, 32] [.var 0, .bin .sub (.lit 31) (.var 1)]

variable {R : Type} [ExactReal R]

theorem output_denote (x : Nat → Int → R) (i : Int) :
    output.denote x i = x 0 (i / 32 * 32 + (31 - i % 32)) := by
  simp [output, OutputSpec.denote, SExpr.denote, flatIndex, Ix.denote, unflatten, bindIx, IxOp.fn]

theorem size0 : launch.size 0 = 2048 := rfl
theorem size1 : launch.size 1 = 2048 := rfl
theorem size2 : launch.size 2 = 32 := rfl
theorem space0 : launch.space 0 = .global := rfl
theorem space1 : launch.space 1 = .global := rfl
theorem space2 : launch.space 2 = .shared := rfl
theorem block_eq : launch.block = ⟨32, 1, 1⟩ := rfl
theorem grid_eq : launch.grid = ⟨64, 1, 1⟩ := rfl

/-- The block that owns an output cell. -/
def gown (a : Nat) (i : Int) : Option Nat := if a = 1 then some (i / 32).toNat else none

/-- The warp that owns a cell. -/
def wown (a : Nat) (_ : Int) : Option Nat := if a = 1 ∨ a = 2 then some 0 else none

/-- Before `__syncwarp` lane `t` owns `s[t]`. -/
def own1 (a : Nat) (i : Int) : Own (Ext R) := if a = 2 then .lane i.toNat else .free

/-- After it, lane `t` owns its output cell, and nobody writes the shared array. -/
def own2 (a : Nat) (i : Int) : Own (Ext R) := if a = 1 then .lane (i % 32).toNat else .free

theorem reverse_correct : Correct R [launch] [(0, 2048)] [output] [] := by
  intro x M hM
  have hx : ∀ i : Int, 0 ≤ i → i < 2048 → M 0 i = some (.fin (x 0 i)) := hM (0, 2048) (by simp)
  refine grid_rule (by decide) gown
    (fun b Mb => ∀ t : Nat, t < 32 → Mb 1 (b * 32 + t : Int) = some (.fin (x 0 (b * 32 + (31 - t))))) ?_ ?_
  · intro b hb regs _
    have hb : b < 64 := hb
    have e2 : (b : Int) % 64 = b := by omega
    have hx0 : ∀ i : Int, 0 ≤ i → i < 2048 → launch.initial M 0 i = some (.fin (x 0 i)) := by
      intro i h0 h1; simp [Launch.initial, space0, hx i h0 h1]
    refine kernel_phase hb wown (fun _ σ => ∀ t : Nat, t < 32 →
      σ.mem 1 (b * 32 + t : Int) = some (.fin (x 0 (b * 32 + (31 - t))))) ?_ ?_
    · intro w hw
      obtain rfl : w = 0 := by have : w < 1 := hw; omega
      have hlive : ∀ l, l < 32 → (warpCtx launch gown b wown 0).live l := by
        intro l hl; show 32 * 0 + l < 32; omega
      refine ⟨own1, ?_⟩
      refine warp_seq (warp_run (fun l σ => σ.mem 2 (l : Int) = some (.fin (x 0 (b * 32 + l)))) ?_ ?_)
      · intro l hl _
        have e1 : (l : Int) % 32 = l := by omega
        have := hx0 (b * 32 + l) (by omega) (by omega)
        simp [warpCtx, WarpCtx.env, WarpCtx.perm, Launch.env, size0, size2, block_eq, grid_eq, Dim3.coord, e1, e2, this,
          blockVis, blockWr, space0, space2, gown, wown, own1, Mem.set]
        omega
      intro β1 o1 H1 _ _ _
      have hs : ∀ i : Int, 0 ≤ i → i < 32 → β1.mem 2 i = some (.fin (x 0 (b * 32 + i))) := by
        intro i h0 h1
        obtain ⟨σ, h2, _, h3⟩ := H1 i.toNat (by omega) (hlive _ (by omega))
        have h2 : σ.mem 2 ((i.toNat : Nat) : Int) = some (.fin (x 0 (b * 32 + ((i.toNat : Nat) : Int)))) := h2
        rw [Int.toNat_of_nonneg h0] at h2
        rw [h3 2 i (by simp [own1]), h2]
      refine warp_seq (warp_sync (fun a i v h => by
        rw [o1] at h; simp only [own1] at h; split at h <;> cases h) own2 ?_ ⟨0, by omega, hlive 0 (by omega)⟩)
      refine warp_run (fun l σ => σ.mem 1 (b * 32 + l : Int) = some (.fin (x 0 (b * 32 + (31 - l))))) ?_ ?_
      · intro l hl _
        have e1 : (l : Int) % 32 = l := by omega
        have := hs (31 - l) (by omega) (by omega)
        simp [warpCtx, WarpCtx.env, WarpCtx.perm, Launch.env, size1, size2, block_eq, grid_eq, Dim3.coord, e1, e2, this,
          blockVis, blockWr, space1, space2, gown, wown, own2, Mem.set]
        omega
      · intro β2 o2 H2 _ _ _
        refine ⟨fun t ht => ?_, fun a i v h => ?_⟩
        · obtain ⟨σ, h2, _, h3⟩ := H2 t ht (hlive t ht)
          rw [h3 1 _ (by simp [own2]; omega), h2]
        · rw [o2] at h; simp only [own2] at h; split at h <;> cases h
    · intro β' ⟨H1, _⟩ t ht
      obtain ⟨σ, h, _, h3⟩ := H1 0 (by decide)
      rw [h3 1 _ (by simp [wown]), h t ht]
  · intro M' H1 H2
    refine ⟨fun o ho i hi0 hi => ?_, fun a i ha _ => H2 a i (.inr fun b _ => by
      simp [gown]; intro h; exact absurd (by simp [h, output]) ha)⟩
    simp only [List.mem_singleton] at ho; subst ho
    have hi : i < 2048 := hi
    rw [output_denote]
    obtain ⟨Mb, h1, h2⟩ := H1 (i / 32).toNat (show (i / 32).toNat < 64 by omega)
    have e : i = ((i / 32).toNat : Int) * 32 + ((i % 32).toNat : Int) := by omega
    have h3 := h1 (i % 32).toNat (by omega)
    rw [← e] at h3
    show M' 1 i = _
    rw [h2 1 i (by simp [space1]) (by simp [gown]), h3]
    congr 3; omega

end KShell.Tests.SyncWarp
