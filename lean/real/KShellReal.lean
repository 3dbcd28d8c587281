module

public import KShell.Scalar.Basic
public import Mathlib.Analysis.SpecialFunctions.Exp
public import Mathlib.Analysis.SpecialFunctions.Integrals.Basic
public import Mathlib.Analysis.SpecialFunctions.Log.Basic
public import Mathlib.Analysis.SpecialFunctions.Trigonometric.Basic
public import Mathlib.Analysis.SpecialFunctions.Trigonometric.DerivHyp

/-!
# The real numbers are exact scalars

Every law of `ExactReal` is a theorem about the real numbers of Mathlib. This package needs Mathlib, which
is why it stands apart: neither the test suite nor the continuous integration of kshell builds it, and no
certificate depends on it. `lake build` in this folder checks it.
-/

@[expose] public section
noncomputable section
namespace KShell

/-- The error function, which Mathlib does not have. -/
def erfReal (x : ℝ) : ℝ := 2 / Real.sqrt Real.pi * ∫ t in (0 : ℝ)..x, Real.exp (-(t * t))

theorem erfReal_neg (x : ℝ) : erfReal (-x) = -erfReal x := by
  have h := intervalIntegral.integral_comp_neg (a := 0) (b := x) fun t : ℝ => Real.exp (-(t * t))
  simp only [neg_mul_neg, neg_zero] at h
  rw [erfReal, erfReal, intervalIntegral.integral_symm, ← h, mul_neg]

/-- Reciprocal square root. -/
def rsqrtReal (x : ℝ) : ℝ := 1 / Real.sqrt x

theorem tanh_mul (x : ℝ) :
    Real.tanh x * (Real.exp x + Real.exp (-x)) = Real.exp x - Real.exp (-x) := by
  have h : Real.exp x + Real.exp (-x) ≠ 0 := (add_pos (Real.exp_pos x) (Real.exp_pos (-x))).ne'
  rw [Real.tanh_eq_sinh_div_cosh, Real.sinh_eq, Real.cosh_eq]
  field_simp

/-- The real numbers. -/
instance : ExactReal ℝ where
  toField := Field.toGrindField
  toLE := inferInstance
  toLT := inferInstance
  linear := inferInstance
  strict := inferInstance
  ordered := inferInstance
  exp := Real.exp
  log := Real.log
  sqrt := Real.sqrt
  rsqrt := rsqrtReal
  tanh := Real.tanh
  erf := erfReal
  sin := Real.sin
  cos := Real.cos
  exp_add := Real.exp_add
  exp_pos := Real.exp_pos
  exp_mono _ _ h := Real.exp_le_exp.mpr h
  log_mul _ _ ha hb := Real.log_mul (ne_of_gt ha) (ne_of_gt hb)
  sqrt_pos _ h := Real.sqrt_pos.mpr h
  sqrt_sq _ h := Real.sqrt_mul_self h
  rsqrt_eq _ _ := rfl
  tanh_exp := tanh_mul
  erf_neg := erfReal_neg
  sin_sq_add_cos_sq x := by
    have h := Real.sin_sq_add_cos_sq x
    rwa [pow_two, pow_two] at h
  sin_neg := Real.sin_neg
  cos_neg := Real.cos_neg

end KShell
