module

public import KShell.Scalar.Ext

/-!
# Folds over commutative monoids

Sums and maxima are one function, `foldTo`. The lemmas reindex, split and reduce them; they hold for any
commutative monoid, so each serves sums, maxima of `Ext R` and products alike.
-/

@[expose] public section
noncomputable section
namespace KShell

section fold
variable {α : Type} (op : α → α → α) (e : α)

/-- `f 0 ∘ f 1 ∘ ... ∘ f (n-1)`, with unit `e`. -/
def foldTo (f : Nat → α) : Nat → α
  | 0 => e
  | n + 1 => op (foldTo f n) (f n)

theorem foldTo_zero (f : Nat → α) : foldTo op e f 0 = e := rfl

variable {op e}

theorem foldTo_succ (f : Nat → α) (n : Nat) : foldTo op e f (n + 1) = op (foldTo op e f n) (f n) := rfl

/-- Equal terms, equal folds. -/
theorem fold_congr {f g : Nat → α} {n : Nat} (h : ∀ i, i < n → f i = g i) :
    foldTo op e f n = foldTo op e g n := by
  induction n with
  | zero => rfl
  | succ n ih => simp only [foldTo]; rw [ih (fun i hi => h i (by omega)), h n (by omega)]

variable [Std.Associative op] [Std.Commutative op] [Std.LawfulIdentity op e]

/-- Split a fold at `m`. -/
theorem fold_add (f : Nat → α) (m n : Nat) :
    foldTo op e f (m + n) = op (foldTo op e f m) (foldTo op e (fun i => f (m + i)) n) := by
  induction n with
  | zero => simp only [foldTo]; exact (Std.LawfulRightIdentity.right_id _).symm
  | succ n ih => rw [← Nat.add_assoc]; simp only [foldTo, ih]; ac_rfl

/-- A fold of `op` is the `op` of two folds. -/
theorem fold_op (f g : Nat → α) (n : Nat) :
    foldTo op e (fun i => op (f i) (g i)) n = op (foldTo op e f n) (foldTo op e g n) := by
  induction n with
  | zero => simp only [foldTo]; exact (Std.LawfulRightIdentity.right_id _).symm
  | succ n ih => simp only [foldTo, ih]; ac_rfl

omit [Std.Associative op] [Std.Commutative op] in
/-- One term. -/
theorem fold_one (f : Nat → α) : foldTo op e f 1 = f 0 := by
  simp only [foldTo]; exact Std.LawfulLeftIdentity.left_id _

omit [Std.Associative op] [Std.Commutative op] in
/-- A fold of units is the unit. -/
theorem fold_unit (n : Nat) : foldTo op e (fun _ => e) n = e := by
  induction n with
  | zero => rfl
  | succ n ih => simp only [foldTo, ih]; exact Std.LawfulRightIdentity.right_id _

/-- Terms from `c` on that are units can be dropped (a ragged or guarded fold). -/
theorem fold_trunc (f : Nat → α) (c K : Nat) (h : c ≤ K) (hz : ∀ k, c ≤ k → k < K → f k = e) :
    foldTo op e f K = foldTo op e f c := by
  obtain ⟨d, rfl⟩ : ∃ d, K = c + d := ⟨K - c, by omega⟩
  rw [fold_add, fold_congr (g := fun _ => e) (fun i hi => hz (c + i) (by omega) (by omega)), fold_unit]
  exact Std.LawfulRightIdentity.right_id _

/-- One halving step of a tree reduction. -/
theorem fold_halve (f : Nat → α) (t s n : Nat) :
    op (foldTo op e (fun q => f (t + 2 * s * q)) n) (foldTo op e (fun q => f (t + s + 2 * s * q)) n)
      = foldTo op e (fun q => f (t + s * q)) (2 * n) := by
  induction n with
  | zero => simp only [foldTo]; exact Std.LawfulRightIdentity.right_id _
  | succ n ih =>
    have h : 2 * (n + 1) = 2 * n + 1 + 1 := by omega
    have h1 : t + 2 * s * n = t + s * (2 * n) := by grind
    have h2 : t + s + 2 * s * n = t + s * (2 * n + 1) := by grind
    rw [h]; simp only [foldTo, ← ih, ← h1, ← h2]; ac_rfl

/-- `T` strided partial folds of `K` terms make one fold of `T * K` terms. -/
theorem fold_strided (f : Nat → α) (T K : Nat) :
    foldTo op e (fun t => foldTo op e (fun k => f (t + T * k)) K) T = foldTo op e f (T * K) := by
  induction K with
  | zero =>
    simp only [foldTo, Nat.mul_zero]
    induction T with
    | zero => rfl
    | succ T ih => simp only [foldTo, ih]; exact Std.LawfulRightIdentity.right_id _
  | succ K ih =>
    rw [Nat.mul_succ, fold_add, ← ih, ← fold_op (op := op) (e := e)]
    apply fold_congr; intro i _
    simp only [foldTo, Nat.add_comm]

/-- `K` consecutive partial folds of `T` terms make one fold of `T * K` terms. -/
theorem fold_nest (f : Nat → α) (T K : Nat) :
    foldTo op e (fun k => foldTo op e (fun t => f (T * k + t)) T) K = foldTo op e f (T * K) := by
  induction K with
  | zero => rfl
  | succ K ih => rw [Nat.mul_succ, fold_add (m := T * K), ← ih]; rfl

/-- Swap two folds. -/
theorem fold_comm (f : Nat → Nat → α) (m n : Nat) :
    foldTo op e (fun i => foldTo op e (fun j => f i j) n) m =
      foldTo op e (fun j => foldTo op e (fun i => f i j) m) n := by
  induction m with
  | zero => simp only [foldTo]; exact (fold_unit n).symm
  | succ m ih => simp only [foldTo, ih, fold_op]

end fold

section sum
open Lean.Grind
variable {R : Type} [ExactReal R]

instance : Std.Associative (α := R) (· + ·) := ⟨by intros; grind⟩
instance : Std.Commutative (α := R) (· + ·) := ⟨by intros; grind⟩
instance : Std.LawfulIdentity (α := R) (· + ·) (0 : R) where
  left_id := by intros; grind
  right_id := by intros; grind
instance : Std.Associative (α := R) maxR := ⟨maxR_assoc⟩
instance : Std.Commutative (α := R) maxR := ⟨maxR_comm⟩

/-- Sum of `f i` for `i < n`. -/
abbrev sumTo (f : Nat → R) (n : Nat) : R := foldTo (· + ·) 0 f n

/-- Maximum of `f i` for `i < n`, `n` positive. -/
def maxTo (f : Nat → R) (n : Nat) : R := foldTo maxR (f 0) f n

theorem sumTo_zero (f : Nat → R) : sumTo f 0 = 0 := rfl
theorem sumTo_succ (f : Nat → R) (n : Nat) : sumTo f (n + 1) = sumTo f n + f n := rfl

theorem sumTo_congr {f g : Nat → R} {n : Nat} (h : ∀ i, i < n → f i = g i) : sumTo f n = sumTo g n :=
  fold_congr h

theorem maxTo_congr {f g : Nat → R} {n : Nat} (hn : 0 < n) (h : ∀ i, i < n → f i = g i) :
    maxTo f n = maxTo g n := by
  simp only [maxTo]; rw [h 0 hn]; exact fold_congr h

/-- Pull a factor out of a sum. -/
theorem sum_mul (c : R) (f : Nat → R) (n : Nat) : sumTo (fun i => c * f i) n = c * sumTo f n := by
  induction n with
  | zero => simp only [sumTo, foldTo]; grind
  | succ n ih => simp only [sumTo, foldTo] at *; rw [ih]; grind

/-- Pull a divisor out of a sum. -/
theorem sum_div (c : R) (f : Nat → R) (n : Nat) : sumTo (fun i => f i / c) n = sumTo f n / c := by
  induction n with
  | zero => simp only [sumTo, foldTo]; grind
  | succ n ih => simp only [sumTo, foldTo] at *; rw [ih]; grind

/-- A sum of positive terms is positive. -/
theorem sum_pos (f : Nat → R) (n : Nat) (h : ∀ i, i < n → 0 < f i) (hn : 0 < n) : 0 < sumTo f n := by
  induction n with
  | zero => omega
  | succ n ih =>
    simp only [sumTo, foldTo] at *
    have h1 := h n (by omega)
    by_cases h0 : n = 0
    · subst h0; simp only [foldTo]; grind
    · have := ih (fun i hi => h i (by omega)) (by omega); grind

/-- A sum of non-negative terms is non-negative. -/
theorem sum_nonneg (f : Nat → R) (n : Nat) (h : ∀ i, i < n → 0 ≤ f i) : 0 ≤ sumTo f n := by
  induction n with
  | zero => simp only [sumTo, foldTo]; grind
  | succ n ih =>
    simp only [sumTo, foldTo] at *
    have h1 := h n (by omega)
    have := ih (fun i hi => h i (by omega)); grind

/-- The maximum with unit -infinity is the maximum of the scalars. -/
theorem fold_max_fin (f : Nat → R) (n : Nat) (hn : 0 < n) :
    foldTo Ext.max .ninf (fun k => .fin (f k)) n = .fin (maxTo f n) := by
  obtain ⟨n, rfl⟩ : ∃ m, n = m + 1 := ⟨n - 1, by omega⟩
  induction n with
  | zero => simp [foldTo, maxTo, maxR]
  | succ n ih => have := ih (by omega); simp only [foldTo] at *; rw [this]; simp [maxTo, foldTo]

end sum
end KShell
