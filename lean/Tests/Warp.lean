module

public import KShell.Rules.Grid
public import KShell.Rules.Shuffle

/-!
# A kernel with warp shuffles

One warp sums a row of 32 elements by five `__shfl_xor_sync` rounds; lane 0 stores the sum.
-/

@[expose] public section
noncomputable section
namespace KShell.Tests.Warp
open KShell
open scoped Classical

/-- `v += __shfl_xor_sync(0xffffffff, v, s);` with the rest of the kernel. -/
abbrev round (s : Int) (rest : Stmt) : Stmt :=
  .seq (.shfl .xor 1 0 (.lit s .i32) 32) <| .seq (.setr 0 (.bin .add (.var 0) (.var 1))) rest

/-- The kernel. -/
def body : Stmt :=
  .seq (.load 0 0 (.bin .add .i32 (.bin .mul .i32 (.special .bid .x) (.lit 32 .i32)) (.special .tid .x))) <|
  round 16 <| round 8 <| round 4 <| round 2 <| round 1 <|
  .ite (.icmp .eq (.special .tid .x) (.lit 0 .i32)) (.store 1 (.special .bid .x) (.var 0)) .skip

/-- 64 blocks of one warp. -/
def launch : Launch where
  kernel := ⟨[⟨.global, 2048⟩, ⟨.global, 64⟩], body⟩
  grid := ⟨64, 1, 1⟩
  block := ⟨32, 1, 1⟩

/-- `y[r] = sum over k of x[r, k]`. -/
def output : OutputSpec where
  buffer := 1
  vars := [(0, 64)]
  body := .sum 1 32 (.read 0 [64, 32] [.var 0, .var 1])

variable {R : Type} [ExactReal R]

theorem output_denote (x : Nat → Int → R) (i : Int) :
    output.denote x i = sumTo (fun k => x 0 (i * 32 + k)) 32 := by
  simp [output, OutputSpec.denote, SExpr.denote, flatIndex, Ix.denote, unflatten, bindIx]

theorem size0 : launch.size 0 = 2048 := rfl
theorem size1 : launch.size 1 = 64 := rfl
theorem space0 : launch.space 0 = .global := rfl
theorem space1 : launch.space 1 = .global := rfl
theorem block_eq : launch.block = ⟨32, 1, 1⟩ := rfl
theorem grid_eq : launch.grid = ⟨64, 1, 1⟩ := rfl

/-- The owner of an output cell: its block, warp 0, lane 0. -/
def gown (a : Nat) (i : Int) : Option Nat := if a = 1 then some i.toNat else none

theorem sum_correct : Correct R [launch] [(0, 2048)] [output] [] := by
  intro x M hM
  have hx : ∀ i : Int, 0 ≤ i → i < 2048 → M 0 i = some (.fin (x 0 i)) := hM (0, 2048) (by simp)
  refine grid_rule (by decide) gown
    (fun b Mb => Mb 1 (b : Int) = some (.fin (sumTo (fun k => x 0 (b * 32 + k)) 32))) ?_ ?_
  · intro b hb regs _
    have hb : b < 64 := hb
    have hx0 : ∀ i : Int, 0 ≤ i → i < 2048 → launch.initial M 0 i = some (.fin (x 0 i)) := by
      intro i h0 h1; simp [Launch.initial, space0, hx i h0 h1]
    let wown : Nat → Int → Option Nat := fun a _ => if a = 1 then some 0 else none
    refine kernel_phase hb wown (fun w σ => σ.mem 1 (b : Int) = some (.fin (sumTo (fun k => x 0 (b * 32 + k)) 32))) ?_ ?_
    · intro w hw
      obtain rfl : w = 0 := by have : w < 1 := hw; omega
      have hlive : ∀ l, l < 32 → (warpCtx launch gown b wown 0).live l := by
        intro l hl; show 32 * 0 + l < 32; omega
      refine ⟨fun a _ => if a = 1 then .lane 0 else .free, ?_⟩
      refine warp_seq (warp_run_pure (fun l r => r.rv 0 = .fin (x 0 (b * 32 + l))) ?_ ?_)
      · intro l hl _
        have e1 : (l : Int) % 32 = l := by omega
        have e2 : (b : Int) % 64 = b := by omega
        have := hx0 (b * 32 + l) (by omega) (by omega)
        simp [warpCtx, WarpCtx.env, WarpCtx.perm, Launch.env, size0, block_eq, grid_eq, Dim3.coord, e1, e2, this,
          blockVis, gown, wown]
        omega
      intro β1 o1 m1 h1
      have h1 : ∀ l, l < 32 → (β1.reg l).rv 0 = .fin (x 0 (b * 32 + l)) := fun l hl => h1 l hl (hlive l hl)
      refine warp_sum_reduce hlive (by decide) h1 fun β6 ⟨_, o6, h6⟩ => ?_
      have hsum : ∀ l, l < 32 → (β6.reg l).rv 0 = .fin (sumTo (fun k => x 0 (b * 32 + k)) 32) :=
        fun l hl => (h6 l hl).1
      have ho : β6.own = fun a _ => if a = 1 then .lane 0 else .free := o6.trans o1
      refine warp_run (fun l σ => l = 0 → σ.mem 1 (b : Int) = some (.fin (sumTo (fun k => x 0 (b * 32 + k)) 32))) ?_ ?_
      · intro l hl _
        have e1 : (l : Int) % 32 = l := by omega
        have e2 : (b : Int) % 64 = b := by omega
        have e3 := hsum l hl
        by_cases hl0 : l = 0
        · subst hl0
          simp [warpCtx, WarpCtx.env, WarpCtx.perm, Launch.env, size1, block_eq, grid_eq, Dim3.coord, e2, e3,
            blockWr, space1, gown, wown, ho, Mem.set]
          omega
        · simp [WarpCtx.env, warpCtx, Launch.env, block_eq, Dim3.coord, e1, hl0]
      · intro β' ho' H1 _ _ _
        refine ⟨?_, fun a i v hs => ?_⟩
        · obtain ⟨σ, h, _, h3⟩ := H1 0 (by omega) (hlive 0 (by omega))
          rw [h3 1 _ (by simp [ho]), h rfl]
        · rw [ho', ho] at hs; dsimp only at hs; split at hs <;> cases hs
    · intro β' ⟨H1, _⟩
      obtain ⟨σ, h, _, h3⟩ := H1 0 (by decide)
      show β'.mem 1 (b : Int) = _
      rw [h3 1 _ (by simp [wown]), h]
  · intro M' H1 H2
    refine ⟨fun o ho i hi0 hi => ?_, fun a i ha _ => H2 a i (.inr fun b _ => by
      simp [gown]; intro h; exact absurd (by simp [h, output]) ha)⟩
    simp only [List.mem_singleton] at ho; subst ho
    have hi : i < 64 := hi
    rw [output_denote]
    obtain ⟨Mb, h1, h2⟩ := H1 i.toNat (show i.toNat < 64 by omega)
    have e : ((i.toNat : Nat) : Int) = i := by omega
    rw [e] at h1
    show M' 1 i = _
    rw [h2 1 i (by simp [space1]) (by simp [gown]), h1]

end KShell.Tests.Warp
