module

/-!
# Exact scalars

The numbers that kernels compute with: an ordered field with the transcendental functions of the
subset. Every law is true of the real numbers; `KShell.Scalar.Model` shows that they are consistent.
-/

@[expose] public section
noncomputable section
namespace KShell
open Lean.Grind

/-- Exact scalars: an ordered field with a few transcendental functions. Each law is a theorem about
the real numbers; outside the stated domains the functions are unspecified. -/
class ExactReal (R : Type) extends Field R, LE R, LT R where
  /-- The order is linear. -/
  [linear : Std.IsLinearOrder R]
  /-- `<` is the strict part of `≤`. -/
  [strict : Std.LawfulOrderLT R]
  /-- The order is compatible with the ring operations. -/
  [ordered : OrderedRing R]
  /-- Exponential. -/
  exp : R → R
  /-- Natural logarithm, specified on positive arguments. -/
  log : R → R
  /-- Square root, specified on non-negative arguments. -/
  sqrt : R → R
  /-- Reciprocal square root, specified on positive arguments. -/
  rsqrt : R → R
  /-- Hyperbolic tangent. -/
  tanh : R → R
  /-- Error function. -/
  erf : R → R
  /-- Sine. -/
  sin : R → R
  /-- Cosine. -/
  cos : R → R
  exp_add : ∀ a b : R, exp (a + b) = exp a * exp b
  exp_pos : ∀ a : R, 0 < exp a
  exp_mono : ∀ a b : R, a ≤ b → exp a ≤ exp b
  log_mul : ∀ a b : R, 0 < a → 0 < b → log (a * b) = log a + log b
  sqrt_pos : ∀ a : R, 0 < a → 0 < sqrt a
  sqrt_sq : ∀ a : R, 0 ≤ a → sqrt (a * a) = a
  rsqrt_eq : ∀ a : R, 0 < a → rsqrt a = 1 / sqrt a
  tanh_exp : ∀ a : R, tanh a * (exp a + exp (-a)) = exp a - exp (-a)
  erf_neg : ∀ a : R, erf (-a) = -erf a
  sin_sq_add_cos_sq : ∀ a : R, sin a * sin a + cos a * cos a = 1
  sin_neg : ∀ a : R, sin (-a) = -sin a
  cos_neg : ∀ a : R, cos (-a) = cos a

attribute [instance] ExactReal.linear ExactReal.strict ExactReal.ordered

variable {R : Type} [ExactReal R]
open ExactReal

/-- The image of an integer. -/
def ofInt (n : Int) : R := Ring.intCast.intCast n

/-- The rational `num / den`. -/
def ofRat (num : Int) (den : Nat) : R := ofInt num / ofInt den

open scoped Classical in
/-- Maximum of two scalars. -/
def maxR (a b : R) : R := if a ≤ b then b else a

open scoped Classical in
/-- Minimum of two scalars. -/
def minR (a b : R) : R := if a ≤ b then a else b

open scoped Classical in
/-- Absolute value. -/
def absR (a : R) : R := if 0 ≤ a then a else -a

@[simp] theorem ofInt_zero : (ofInt 0 : R) = 0 := by
  have := Ring.intCast_zero (α := R); exact this

@[simp] theorem ofInt_one : (ofInt 1 : R) = 1 := by
  have := Ring.intCast_one (α := R); exact this

/-- A literal with denominator one is the integer. -/
@[simp] theorem ofRat_one (n : Int) : (ofRat n 1 : R) = ofInt n := by
  have h : (ofInt ((1 : Nat) : Int) : R) = 1 := ofInt_one
  simp only [ofRat, h]; grind

theorem maxR_comm (a b : R) : maxR a b = maxR b a := by simp only [maxR]; grind

theorem maxR_assoc (a b c : R) : maxR (maxR a b) c = maxR a (maxR b c) := by
  simp only [maxR]; grind

theorem maxR_self (a : R) : maxR a a = a := by simp [maxR]

/-- `exp 0 = 1`. -/
@[simp] theorem exp_zero : exp (0 : R) = 1 := by
  have h := exp_add (0 : R) 0
  have h2 := exp_pos (0 : R)
  have h3 : (0 : R) + 0 = 0 := by grind
  rw [h3] at h; grind

/-- `exp (-a)` is the inverse of `exp a`. -/
theorem exp_neg (a : R) : exp (-a) * exp a = 1 := by
  rw [← exp_add]
  have h : -a + a = 0 := by grind
  rw [h, exp_zero]

end KShell
