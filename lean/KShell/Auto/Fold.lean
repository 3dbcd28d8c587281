module

public import KShell.Scalar.Fold

/-!
# Sums and maxima over a counter

`sumI f n` adds `f 0 ... f (n - 1)`, `maxI f n` is their maximum for `n > 0`, and `maxE f n` is the
maximum with -infinity for the empty range, which is what an accumulator that starts at `-INFINITY` holds.
Functions take the counter as an integer, so that index arithmetic stays in one type.
-/

@[expose] public section
noncomputable section
namespace KShell.Auto
set_option linter.unusedSectionVars false

variable {R : Type} [ExactReal R]

/-- Sum of `f i` for `0 ≤ i < n`. -/
def sumI (f : Int → R) : Nat → R
  | 0 => 0
  | n + 1 => sumI f n + f n

/-- Maximum of `f i` for `0 ≤ i < n`; `f 0` for `n = 0`. -/
def maxI (f : Int → R) : Nat → R
  | 0 => f 0
  | n + 1 => maxR (maxI f n) (f n)

/-- Maximum of `f i` for `0 ≤ i < n`; -infinity for `n = 0`. -/
def maxE (f : Int → R) : Nat → Ext R
  | 0 => .ninf
  | n + 1 => Ext.max (maxE f n) (.fin (f n))

variable {f g : Int → R} {n : Nat} {k : Int}

/-- Congruence of a binary operation. -/
theorem congr2 {α : Type} {f : α → α → α} {a b c d : α} (h : a = c) (h' : b = d) : f a b = f c d := by
  rw [h, h']

theorem plus_zero (a : R) : a + 0 = a := by grind

theorem sumI_zero : sumI f 0 = 0 := rfl

theorem sumI_step (hk : 0 ≤ k) : sumI f (k + 1).toNat = sumI f k.toNat + f k := by
  obtain ⟨n, rfl⟩ := Int.eq_ofNat_of_zero_le hk
  have h : ((n : Int) + 1).toNat = n + 1 := by omega
  rw [h, Int.toNat_natCast]; rfl

theorem sumI_congr (h : ∀ i : Int, 0 ≤ i → i < n → f i = g i) : sumI f n = sumI g n := by
  induction n with
  | zero => rfl
  | succ n ih =>
    simp only [sumI]
    rw [ih (fun i h0 h1 => h i h0 (by omega)), h n (by omega) (by omega)]

theorem maxI_congr (hn : 0 < n) (h : ∀ i : Int, 0 ≤ i → i < n → f i = g i) : maxI f n = maxI g n := by
  have h0 := h 0 (by omega) (by omega)
  clear hn
  induction n with
  | zero => exact h0
  | succ n ih =>
    simp only [maxI]
    rw [ih (fun i h0 h1 => h i h0 (by omega)), h n (by omega) (by omega)]

theorem maxE_zero : maxE f 0 = .ninf := rfl

theorem maxE_step (hk : 0 ≤ k) : maxE f (k + 1).toNat = Ext.max (maxE f k.toNat) (.fin (f k)) := by
  obtain ⟨n, rfl⟩ := Int.eq_ofNat_of_zero_le hk
  have h : ((n : Int) + 1).toNat = n + 1 := by omega
  rw [h, Int.toNat_natCast]; rfl

/-- The maximum over a range that is not empty is a scalar. -/
theorem maxE_fin (hn : 0 < n) : maxE f n = .fin (maxI f n) := by
  obtain ⟨n, rfl⟩ : ∃ m, n = m + 1 := ⟨n - 1, by omega⟩
  clear hn
  induction n with
  | zero => simp [maxE, maxI, maxR]
  | succ n ih =>
    rw [maxE, ih]; rfl

/-- The sum of the package, whose counter is a natural number. -/
theorem sumI_eq : sumI f n = sumTo (fun k => f k) n := by
  induction n with
  | zero => rfl
  | succ n ih => rw [sumI, ih]; rfl

/-- The maximum of the package, whose counter is a natural number. -/
theorem maxI_eq : maxI f n = maxTo (fun k => f k) n := by
  induction n with
  | zero => rfl
  | succ n ih => rw [maxI, ih]; rfl

theorem sumI_mul (c : R) : sumI (fun i => c * f i) n = c * sumI f n := by
  induction n with
  | zero => simp only [sumI]; grind
  | succ n ih => simp only [sumI]; rw [ih]; grind

theorem sumI_div (c : R) : sumI (fun i => f i / c) n = sumI f n / c := by
  induction n with
  | zero => simp only [sumI]; grind
  | succ n ih => simp only [sumI]; rw [ih]; grind

theorem sumI_add : sumI (fun i => f i + g i) n = sumI f n + sumI g n := by
  induction n with
  | zero => simp only [sumI]; grind
  | succ n ih => simp only [sumI]; rw [ih]; grind

theorem sumI_nonneg (h : ∀ i : Int, 0 ≤ i → i < n → 0 ≤ f i) : 0 ≤ sumI f n := by
  induction n with
  | zero => simp only [sumI]; grind
  | succ n ih =>
    simp only [sumI]
    have h1 := ih (fun i h0 h1 => h i h0 (by omega))
    have h2 := h n (by omega) (by omega)
    grind

/-- A square is not negative. -/
theorem sq_nonneg (a : R) : 0 ≤ a * a := by
  have := Lean.Grind.OrderedRing.sq_nonneg (a := a); grind

theorem sumI_pos (hn : 0 < n) (h : ∀ i : Int, 0 ≤ i → i < n → 0 < f i) : 0 < sumI f n := by
  obtain ⟨n, rfl⟩ : ∃ m, n = m + 1 := ⟨n - 1, by omega⟩
  have h1 : 0 ≤ sumI f n := sumI_nonneg (fun i h0 h1 => by have := h i h0 (by omega); grind)
  have h2 := h n (by omega) (by omega)
  simp only [sumI]; grind

end KShell.Auto
