module

public import KShell.Rules.Grid
public import KShell.Sound.Vacuity

/-!
# A sequence of launches

Two launches over one memory with a scratch buffer in between, which starts uninitialised.
-/

@[expose] public section
noncomputable section
namespace KShell.Tests.Sequence
open KShell
open scoped Classical

/-- ReLU from buffer `s` to buffer `d`. -/
def body (s d : Nat) : Stmt :=
  .seq (.seti 0 (.bin .add .i32 (.bin .mul .i32 (.special .bid .x) (.special .bdim .x)) (.special .tid .x))) <|
  .seq (.load 0 s (.var 0)) (.store d (.var 0) (.bin .max (.var 0) (.lit 0 1)))

/-- 4 blocks of 128 threads. -/
def launch (s d : Nat) : Launch where
  kernel := ⟨[⟨.global, 512⟩, ⟨.global, 512⟩, ⟨.global, 512⟩], body s d⟩
  grid := ⟨4, 1, 1⟩
  block := ⟨128, 1, 1⟩

/-- `z[i] = max(x[i], 0)`. -/
def output : OutputSpec where
  buffer := 2
  vars := [(0, 512)]
  body := .bin .max (.read 0 [512] [.var 0]) (.const 0 1)

variable {R : Type} [ExactReal R]

theorem output_denote (x : Nat → Int → R) (i : Int) : output.denote x i = maxR (x 0 i) 0 := by
  simp [output, OutputSpec.denote, SExpr.denote, flatIndex, Ix.denote, unflatten, bindIx, RealOp.real]

theorem launch_runs {s d : Nat} (hs : s < 3) (hd : d < 3) (hne : s ≠ d) (x : Int → R) (M : Mem R)
    (hx : ∀ i : Int, 0 ≤ i → i < 512 → M s i = some (.fin (x i))) :
    (launch s d).Runs (fun M' => (∀ i : Int, 0 ≤ i → i < 512 → M' d i = some (.fin (maxR (x i) 0))) ∧
      ∀ a i, a ≠ d → M' a i = M a i) M := by
  have size : ∀ a, a < 3 → (launch s d).size a = 512 := by
    intro a ha; obtain rfl | rfl | rfl : a = 0 ∨ a = 1 ∨ a = 2 := by omega
    all_goals rfl
  have valid : (launch s d).Valid := show (launch 0 1).Valid by decide
  refine elementwise_rule valid ?_ (· = d) (fun _ i => (i / 128, i % 128))
    (fun _ i v => v = some (.fin (maxR (x i) 0))) ?_ ?_
  · intro a; rcases a with _ | _ | _ | a <;> simp [launch, Launch.space]
  · intro b t r hb0 hb ht0 ht _
    have hb : b < 4 := hb
    have ht : t < 128 := ht
    have e1 : t % 128 = t := by omega
    have e2 : b % 4 = b := by omega
    have block_eq : (launch s d).block = ⟨128, 1, 1⟩ := rfl
    have grid_eq : (launch s d).grid = ⟨4, 1, 1⟩ := rfl
    have hxi := hx (b * 128 + t) (by omega) (by omega)
    show (body s d).wp _ _ _ _
    simp [body, Launch.env, block_eq, grid_eq, Dim3.coord, Dim3.get, size s hs, size d hd, e1, e2, hxi, hne]
    refine ⟨by omega, by omega, by omega, fun a i ha hi ht' => ?_⟩
    have : i = b * 128 + t := by omega
    rw [ha, this, Mem.set_same rfl]
  · intro M' H1 H2
    refine ⟨fun i h0 h1 => H1 d i rfl ?_, fun a i ha => H2 a i (.inl ha)⟩
    show 0 ≤ i / 128 ∧ i / 128 < 4 ∧ 0 ≤ i % 128 ∧ i % 128 < 128
    omega

theorem sequence_correct : Correct R [launch 0 1, launch 1 2] [(0, 512)] [output] [1] := by
  intro x M hM
  have hx : ∀ i : Int, 0 ≤ i → i < 512 → M 0 i = some (.fin (x 0 i)) := hM (0, 512) (by simp)
  refine (launch_runs (by decide) (by decide) (by decide) (x 0) M hx).mono fun M1 ⟨h1, h2⟩ => ?_
  refine (launch_runs (by decide) (by decide) (by decide) (fun i => maxR (x 0 i) 0) M1 h1).mono fun M2 ⟨h3, h4⟩ => ?_
  refine ⟨fun o ho i h0 hi => ?_, fun a i ha hs => ?_⟩
  · simp only [List.mem_singleton] at ho; subst ho
    rw [output_denote]
    refine (h3 i h0 hi).trans ?_
    rw [maxR_assoc, maxR_self]
  · have ha : a ≠ 2 := by simpa [output] using ha
    have hs : a ≠ 1 := by simpa using hs
    rw [h4 a i ha, h2 a i hs]

end KShell.Tests.Sequence
