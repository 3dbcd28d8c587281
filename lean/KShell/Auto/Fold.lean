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

theorem plus_assoc (a b c : R) : a + (b + c) = a + b + c := by grind

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

/-- Maxima bracketed to the right. -/
theorem max_right (a b c : Ext R) : Ext.max (Ext.max a b) c = Ext.max a (Ext.max b c) :=
  Std.Associative.assoc a b c

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

theorem ofInt_add (a b : Int) : (ofInt (a + b) : R) = ofInt a + ofInt b := Lean.Grind.Ring.intCast_add a b

theorem ofInt_succ (n : Nat) : (ofInt ((n + 1 : Nat) : Int) : R) = ofInt n + 1 := by
  have h : ((n + 1 : Nat) : Int) = (n : Int) + 1 := by omega
  rw [h, ofInt_add, ofInt_one]

theorem ofInt_pos (hn : 0 < n) : (0 : R) < ofInt n := by
  have h : ∀ n : Nat, (0 : R) ≤ ofInt n := by
    intro n; induction n with
    | zero => have h0 : (ofInt ((0 : Nat) : Int) : R) = 0 := ofInt_zero
              rw [h0]; grind
    | succ n ih => rw [ofInt_succ]; grind
  obtain ⟨n, rfl⟩ : ∃ m, n = m + 1 := ⟨n - 1, by omega⟩
  have := h n
  rw [ofInt_succ]; grind

/-- A sum of squared distances in powers of its terms. -/
theorem sumI_sq_sub (c : R) : sumI (fun i => (f i - c) * (f i - c)) n =
    sumI (fun i => f i * f i) n - (c + c) * sumI f n + ofInt n * (c * c) := by
  induction n with
  | zero => have h0 : (ofInt ((0 : Nat) : Int) : R) = 0 := ofInt_zero
            simp only [sumI, h0]; grind
  | succ n ih => simp only [sumI]; rw [ih, ofInt_succ]; grind

/-- A quotient with a positive denominator is not negative. -/
theorem div_nonneg {a d : R} (ha : 0 ≤ a) (hd : 0 < d) : 0 ≤ a / d := by
  have hi : 0 ≤ 1 / d := by
    rcases Std.le_total (a := (0 : R)) (b := 1 / d) with h | h
    · exact h
    · have h1 : 0 ≤ -(1 / d) := by grind
      have h2 : 0 ≤ d * -(1 / d) := Lean.Grind.OrderedRing.mul_nonneg (by grind) h1
      have h3 : d * (1 / d) = 1 := by grind
      have h4 : d * -(1 / d) = -1 := by grind
      grind
  have h2 : a / d = a * (1 / d) := by grind
  rw [h2]; exact Lean.Grind.OrderedRing.mul_nonneg ha hi

theorem maxR_zero {a : R} (h : 0 ≤ a) : maxR a 0 = a := by simp only [maxR]; grind

theorem le_maxR_right (a b : R) : b ≤ maxR a b := by simp only [maxR]; grind

/-- The variance from the sum of squares. -/
theorem one_pass {N m : R} (h0 : 0 < n) (hN : N = ofInt n) (hm : m = sumI f n / N) :
    sumI (fun i => f i * f i) n / N - m * m = sumI (fun i => (f i - m) * (f i - m)) n / N := by
  have hp : (0 : R) < ofInt n := ofInt_pos h0
  rw [sumI_sq_sub, ← hN]
  have hs : sumI f n = m * N := by grind
  rw [hs]; grind

theorem one_pass_max {N m : R} (h0 : 0 < n) (hN : N = ofInt n) (hm : m = sumI f n / N) :
    maxR (sumI (fun i => f i * f i) n / N - m * m) 0 = sumI (fun i => (f i - m) * (f i - m)) n / N := by
  have hp : (0 : R) < ofInt n := ofInt_pos h0
  have hs : 0 ≤ sumI (fun i => (f i - m) * (f i - m)) n := sumI_nonneg fun _ _ _ => sq_nonneg _
  rw [one_pass h0 hN hm]
  exact maxR_zero (div_nonneg hs (hN ▸ hp))

/-- A sum and the sum over the elements that follow. -/
theorem sumI_append {m t : Nat} {N : Int} (hN : (n : Int) = N) (ht : n + m = t) :
    sumI f n + sumI (fun j => f (j + N)) m = sumI f t := by
  subst ht; subst hN; induction m with
  | zero => simp only [sumI]; grind
  | succ m ih =>
    have h : n + (m + 1) = (n + m) + 1 := by omega
    have e : ((n + m : Nat) : Int) = (m : Int) + n := by omega
    rw [h]; simp only [sumI]; rw [← ih, e]; grind

theorem sumI_const_zero : sumI (fun _ => (0 : R)) n = 0 := by
  induction n with
  | zero => rfl
  | succ n ih => simp only [sumI]; rw [ih]; grind

/-- The last of several adjacent elements that are added up, from `z` on. -/
theorem sumI_next {m : Nat} {z : Int} {a b : R} (hm : m = n + 1) (ha : a = sumI (fun c => f (z + c)) n)
    (hb : ∀ j : Int, j = z + n → b = f j) : a + b = sumI (fun c => f (z + c)) m := by
  subst hm; rw [ha, hb _ rfl]; rfl

/-- The first of them. -/
theorem sumI_first {z : Int} {b : R} (hb : ∀ j : Int, j = z → b = f j) : b = sumI (fun c => f (z + c)) 1 := by
  have e : z + ((0 : Nat) : Int) = z := by omega
  rw [hb _ rfl]; simp only [sumI, e]; grind

/-- `w` sums over every `w`-th element are one sum. -/
theorem sumI_strided {w m t : Nat} {W : Int} (hW : (w : Int) = W) (ht : w * m = t) :
    sumI (fun k => sumI (fun j => f (j * W + k)) m) w = sumI f t := by
  subst ht; subst hW; induction m with
  | zero => simp only [sumI, Nat.mul_zero]; exact sumI_const_zero
  | succ m ih =>
    simp only [sumI]
    rw [sumI_add, ih, Nat.mul_succ, ← sumI_append (n := w * m) rfl rfl]
    refine congr2 (f := fun z v : R => z + v) rfl (sumI_congr fun k _ _ => ?_)
    have e : (m : Int) * w + k = k + ((w * m : Nat) : Int) := by
      rw [Int.natCast_mul, Int.mul_comm]; omega
    rw [e]

end KShell.Auto
