module

public import KShell.Auto.Fold

/-!
# Sums over part of a range

A loop whose bounds leave out the elements that add nothing computes the sum over all elements; so does one
that takes two counters in the other order.
-/

@[expose] public section
noncomputable section
namespace KShell.Auto
set_option linter.unusedSectionVars false

variable {R : Type} [ExactReal R] {f g : Int → R} {c n : Nat}

/-- A sum of zeros. -/
theorem sumI_vanish (h : ∀ k : Int, 0 ≤ k → k < n → f k = 0) : sumI f n = 0 :=
  (sumI_congr h).trans sumI_const_zero

/-- Equal terms, where the counters have names of their own. -/
theorem sumI_same (h : ∀ i k : Int, 0 ≤ i → i < n → k = i → f i = g k) : sumI f n = sumI g n :=
  sumI_congr fun i i0 i1 => h i i i0 i1 rfl

/-- The `c` elements from `lo` on make up the sum over `n` elements when the others are 0. -/
theorem sumI_window (lo : Int) (hc : (0 ≤ lo ∧ lo + c ≤ n) ∨ c = 0)
    (hin : ∀ i k : Int, 0 ≤ i → i < c → k = lo + i → f i = g k)
    (hout : ∀ k : Int, 0 ≤ k → k < n → k < lo ∨ lo + c ≤ k → g k = 0) : sumI f c = sumI g n := by
  rcases hc with ⟨h0, h1⟩ | rfl
  · obtain ⟨l, rfl⟩ := Int.eq_ofNat_of_zero_le h0
    obtain ⟨d, rfl⟩ : ∃ d, n = l + c + d := ⟨n - (l + c), by omega⟩
    rw [← sumI_append (f := g) (n := l + c) (m := d) (N := ((l + c : Nat) : Int)) rfl rfl,
      ← sumI_append (f := g) (n := l) (m := c) (N := (l : Int)) rfl rfl,
      sumI_vanish (f := g) (n := l) (fun k k0 k1 => hout k k0 (by omega) (by omega)),
      sumI_vanish (f := fun j => g (j + ((l + c : Nat) : Int))) (n := d)
        (fun k k0 k1 => hout _ (by omega) (by omega) (by omega)),
      sumI_congr (f := f) (g := fun j => g (j + l)) (n := c) (fun i i0 i1 => hin i _ i0 i1 (by omega))]
    grind
  · rw [sumI_vanish (f := g) (fun k k0 k1 => hout k k0 k1 (by omega))]; rfl

end KShell.Auto
