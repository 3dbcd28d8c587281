module

public import KShell.Auto.Fold

/-!
# Sums of exponentials relative to a running maximum

One pass over `x` keeps the maximum `m` of what it has seen, from -infinity on, and the sum `s` of
`exp (x j - m)`; a round replaces `m` by `m' = max m x` and `s` by `s * exp (m - m') + exp (x - m')`. The sum
needs no value for `m = -infinity`: it is empty then, and `maxI f 0` stands for any scalar.
-/

@[expose] public section
noncomputable section
namespace KShell.Auto
open ExactReal
set_option linter.unusedSectionVars false

variable {R : Type} [ExactReal R]

/-- `exp (a - b)` where `a` may be -infinity. -/
def expE : Ext R → R → R
  | .fin a, b => exp (a - b)
  | .ninf, _ => 0

variable {f g : Int → R} {n : Nat} {k : Int} {a b v : R}

theorem exp_sub_fin {x : Ext R} : Ext.exp (Ext.sub x (.fin b)) = .fin (expE x b) := by cases x <;> rfl

theorem expE_fin : expE (.fin a) b = exp (a - b) := rfl

theorem exp_sub_mul (y : R) : exp (y - a) * exp (a - b) = exp (y - b) := by
  rw [← exp_add]
  have h : y - a + (a - b) = y - b := by grind
  rw [h]

/-- A sum of exponentials relative to `a`, said relative to `b`. -/
theorem sumI_rescale : sumI (fun j => exp (g j - a)) n * exp (a - b) = sumI (fun j => exp (g j - b)) n := by
  induction n with
  | zero => simp only [sumI]; grind
  | succ n ih =>
    simp only [sumI]
    have h := exp_sub_mul (a := a) (b := b) (g n)
    grind

/-- The maximum after one more element is a scalar. -/
theorem maxE_next (hk : 0 ≤ k) (hv : v = f k) :
    Ext.max (maxE f k.toNat) (.fin v) = .fin (maxI f (k + 1).toNat) := by
  rw [hv, ← maxE_step hk]; exact maxE_fin (by omega)

/-- A round of the sum. -/
theorem online_step (hk : 0 ≤ k) (hv : v = g k) :
    sumI (fun j => exp (g j - maxI f k.toNat)) k.toNat * expE (maxE f k.toNat) (maxI f (k + 1).toNat) +
      exp (v - maxI f (k + 1).toNat) =
    sumI (fun j => exp (g j - maxI f (k + 1).toNat)) (k + 1).toNat := by
  rw [sumI_step hk, hv]
  obtain ⟨n, rfl⟩ := Int.eq_ofNat_of_zero_le hk
  rw [Int.toNat_natCast]
  cases n with
  | zero => simp only [sumI]; grind
  | succ n => rw [maxE_fin (by omega), expE_fin, sumI_rescale]

end KShell.Auto
