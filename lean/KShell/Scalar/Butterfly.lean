module

public import KShell.Scalar.Fold

/-!
# Butterfly and tree reductions

`warp_reduce`: five `__shfl_xor_sync` rounds leave the fold of all 32 lanes in every lane, for any
commutative monoid.
-/

@[expose] public section
noncomputable section
namespace KShell

variable {α : Type} {op : α → α → α} {e : α} [Std.Associative op] [Std.Commutative op] [Std.LawfulIdentity op e]

/-- One butterfly round: each lane combines its value with that of lane `l ^^^ s`. -/
def butterfly (op : α → α → α) (s : Nat) (v : Nat → α) : Nat → α := fun l => op (v l) (v (l ^^^ s))

/-- Flipping the bit `s` of a lane number swaps the two halves of its residue class. -/
def FlipsHalf (s : Nat) : Prop := ∀ l, l < 32 → l ^^^ s < 32 ∧
  ((l % (2 * s) = l % s ∧ (l ^^^ s) % (2 * s) = l % s + s) ∨
   (l % (2 * s) = l % s + s ∧ (l ^^^ s) % (2 * s) = l % s))

theorem flips16 : FlipsHalf 16 := by unfold FlipsHalf; decide
theorem flips8 : FlipsHalf 8 := by unfold FlipsHalf; decide
theorem flips4 : FlipsHalf 4 := by unfold FlipsHalf; decide
theorem flips2 : FlipsHalf 2 := by unfold FlipsHalf; decide
theorem flips1 : FlipsHalf 1 := by unfold FlipsHalf; decide

/-- One round doubles the number of terms and halves the stride. -/
theorem butterfly_step (a v : Nat → α) (s n : Nat) (hs : FlipsHalf s)
    (hv : ∀ l, l < 32 → v l = foldTo op e (fun q => a (l % (2 * s) + 2 * s * q)) n) :
    ∀ l, l < 32 → butterfly op s v l = foldTo op e (fun q => a (l % s + s * q)) (2 * n) := by
  intro l hl
  obtain ⟨h1, h2⟩ := hs l hl
  simp only [butterfly, hv l hl, hv _ h1, ← fold_halve]
  rcases h2 with ⟨h2, h3⟩ | ⟨h2, h3⟩
  · rw [h2, h3]
  · rw [h2, h3]; exact Std.Commutative.comm _ _

/-- Five rounds: every lane holds the fold of all 32. -/
theorem warp_reduce (a : Nat → α) : ∀ l, l < 32 →
    butterfly op 1 (butterfly op 2 (butterfly op 4 (butterfly op 8 (butterfly op 16 a)))) l = foldTo op e a 32 := by
  have h0 : ∀ l, l < 32 → a l = foldTo op e (fun q => a (l % 32 + 32 * q)) 1 := by
    intro l hl; rw [fold_one]; congr 1; omega
  have h := butterfly_step (e := e) a _ 1 16 flips1 (butterfly_step a _ 2 8 flips2 (butterfly_step a _ 4 4 flips4
    (butterfly_step a _ 8 2 flips8 (butterfly_step a _ 16 1 flips16 h0))))
  intro l hl
  rw [h l hl]; apply fold_congr; intro i hi; congr 1; omega

end KShell
