module

public import KShell.Scalar.Basic

/-!
# A model of the scalar laws

The rational numbers with a constant exponential satisfy every law of `ExactReal`, so the laws are
consistent: no theorem of this package holds because its premise about the scalars is contradictory.
-/

@[expose] public section
noncomputable section
namespace KShell
open scoped Classical

/-- A square root on perfect squares, one elsewhere. -/
def ratSqrt (x : Rat) : Rat := if h : ∃ a : Rat, 0 ≤ a ∧ a * a = x then Classical.choose h else 1

theorem ratSqrt_sq (a : Rat) (ha : 0 ≤ a) : ratSqrt (a * a) = a := by
  have h : ∃ b : Rat, 0 ≤ b ∧ b * b = a * a := ⟨a, ha, rfl⟩
  simp only [ratSqrt, dif_pos h]
  obtain ⟨h0, h1⟩ := Classical.choose_spec h
  generalize Classical.choose h = b at h0 h1
  have h2 : (b - a) * (b + a) = 0 := by grind
  rcases Rat.mul_eq_zero.mp h2 with h3 | h3 <;> grind

theorem ratSqrt_pos (x : Rat) (hx : 0 < x) : 0 < ratSqrt x := by
  simp only [ratSqrt]; split
  · next h =>
    obtain ⟨h0, h1⟩ := Classical.choose_spec h
    generalize Classical.choose h = b at h0 h1
    by_cases hb : b = 0
    · subst hb; grind
    · grind
  · decide

/-- The rational numbers as exact scalars. -/
instance : ExactReal Rat where
  exp _ := 1
  log _ := 0
  sqrt := ratSqrt
  rsqrt x := 1 / ratSqrt x
  tanh _ := 0
  erf _ := 0
  sin _ := 0
  cos _ := 1
  exp_add _ _ := by grind
  exp_pos _ := by decide
  exp_mono _ _ _ := by grind
  log_mul _ _ _ _ := by grind
  sqrt_pos := ratSqrt_pos
  sqrt_sq := ratSqrt_sq
  rsqrt_eq _ _ := rfl
  tanh_exp _ := by grind
  erf_neg _ := by grind
  sin_sq_add_cos_sq _ := by grind
  sin_neg _ := by grind
  cos_neg _ := rfl

end KShell
