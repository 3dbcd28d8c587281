module

public import KShell.Scalar.Ext

/-!
# Sums and maxima over a counter

`sumTo f n` adds `f 0 ... f (n - 1)`, `maxTo f n` is their maximum for `n > 0`, and `maxExt f n` is the
maximum with -infinity for the empty range, which is what an accumulator that starts at `-INFINITY` holds.
Functions take the counter as an integer, so that index arithmetic stays in one type.
-/

@[expose] public section
noncomputable section
namespace KShell.Auto
set_option linter.unusedSectionVars false

variable {R : Type} [ExactReal R]

/-- Sum of `f i` for `0 ≤ i < n`. -/
def sumTo (f : Int → R) : Nat → R
  | 0 => 0
  | n + 1 => sumTo f n + f n

/-- Maximum of `f i` for `0 ≤ i < n`; `f 0` for `n = 0`. -/
def maxTo (f : Int → R) : Nat → R
  | 0 => f 0
  | n + 1 => maxR (maxTo f n) (f n)

/-- Maximum of `f i` for `0 ≤ i < n`; -infinity for `n = 0`. -/
def maxExt (f : Int → R) : Nat → Ext R
  | 0 => .ninf
  | n + 1 => Ext.max (maxExt f n) (.fin (f n))

variable {f g : Int → R} {n : Nat} {k : Int}

theorem sumTo_zero : sumTo f 0 = 0 := rfl

theorem sumTo_step (hk : 0 ≤ k) : sumTo f (k + 1).toNat = sumTo f k.toNat + f k := by
  obtain ⟨n, rfl⟩ := Int.eq_ofNat_of_zero_le hk
  have h : ((n : Int) + 1).toNat = n + 1 := by omega
  rw [h, Int.toNat_natCast]; rfl

theorem sumTo_congr (h : ∀ i : Int, 0 ≤ i → i < n → f i = g i) : sumTo f n = sumTo g n := by
  induction n with
  | zero => rfl
  | succ n ih =>
    simp only [sumTo]
    rw [ih (fun i h0 h1 => h i h0 (by omega)), h n (by omega) (by omega)]

theorem maxTo_congr (hn : 0 < n) (h : ∀ i : Int, 0 ≤ i → i < n → f i = g i) : maxTo f n = maxTo g n := by
  have h0 := h 0 (by omega) (by omega)
  clear hn
  induction n with
  | zero => exact h0
  | succ n ih =>
    simp only [maxTo]
    rw [ih (fun i h0 h1 => h i h0 (by omega)), h n (by omega) (by omega)]

theorem maxExt_zero : maxExt f 0 = .ninf := rfl

theorem maxExt_step (hk : 0 ≤ k) : maxExt f (k + 1).toNat = Ext.max (maxExt f k.toNat) (.fin (f k)) := by
  obtain ⟨n, rfl⟩ := Int.eq_ofNat_of_zero_le hk
  have h : ((n : Int) + 1).toNat = n + 1 := by omega
  rw [h, Int.toNat_natCast]; rfl

/-- The maximum over a range that is not empty is a scalar. -/
theorem maxExt_fin (hn : 0 < n) : maxExt f n = .fin (maxTo f n) := by
  obtain ⟨n, rfl⟩ : ∃ m, n = m + 1 := ⟨n - 1, by omega⟩
  clear hn
  induction n with
  | zero => simp [maxExt, maxTo, maxR]
  | succ n ih =>
    rw [maxExt, ih]; rfl

theorem sumTo_mul (c : R) : sumTo (fun i => c * f i) n = c * sumTo f n := by
  induction n with
  | zero => simp only [sumTo]; grind
  | succ n ih => simp only [sumTo]; rw [ih]; grind

theorem sumTo_div (c : R) : sumTo (fun i => f i / c) n = sumTo f n / c := by
  induction n with
  | zero => simp only [sumTo]; grind
  | succ n ih => simp only [sumTo]; rw [ih]; grind

theorem sumTo_add : sumTo (fun i => f i + g i) n = sumTo f n + sumTo g n := by
  induction n with
  | zero => simp only [sumTo]; grind
  | succ n ih => simp only [sumTo]; rw [ih]; grind

theorem sumTo_nonneg (h : ∀ i : Int, 0 ≤ i → i < n → 0 ≤ f i) : 0 ≤ sumTo f n := by
  induction n with
  | zero => simp only [sumTo]; grind
  | succ n ih =>
    simp only [sumTo]
    have h1 := ih (fun i h0 h1 => h i h0 (by omega))
    have h2 := h n (by omega) (by omega)
    grind

theorem sumTo_pos (hn : 0 < n) (h : ∀ i : Int, 0 ≤ i → i < n → 0 < f i) : 0 < sumTo f n := by
  obtain ⟨n, rfl⟩ : ∃ m, n = m + 1 := ⟨n - 1, by omega⟩
  have h1 : 0 ≤ sumTo f n := sumTo_nonneg (fun i h0 h1 => by have := h i h0 (by omega); grind)
  have h2 := h n (by omega) (by omega)
  simp only [sumTo]; grind

end KShell.Auto
