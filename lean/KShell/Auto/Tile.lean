module

public import KShell.Auto.Tree

/-!
# Loops over tiles

A loop that all threads of a block make together (`count_loop`), and the sum over tiles as one sum
(`sum_tiles`).
-/

@[expose] public section
noncomputable section
namespace KShell.Auto
open scoped Classical
set_option linter.unusedSectionVars false

variable {R : Type} [ExactReal R]

/-- `K` tiles of `T` elements cover the `n` elements of a sum; what lies beyond adds nothing. -/
theorem sum_tiles (f : Int → R) (g : Int → Int → R) (T K n : Nat) (hn : n ≤ T * K)
    (hg : ∀ t k j : Int, 0 ≤ t → t < K → 0 ≤ k → k < T → j = T * t + k → j < n → g t k = f j)
    (hz : ∀ t k j : Int, 0 ≤ t → t < K → 0 ≤ k → k < T → j = T * t + k → n ≤ j → g t k = 0) :
    sumI (fun t => sumI (g t) T) K = sumI f n := by
  have h : ∀ t : Int, 0 ≤ t → t < K →
      sumI (g t) T = sumI (fun k => if (T : Int) * t + k < n then f (T * t + k) else 0) T := by
    intro t t0 t1
    refine sumI_congr fun k k0 k1 => ?_
    by_cases hj : (T : Int) * t + k < n
    · simp only [if_pos hj]; exact hg t k _ t0 t1 k0 k1 rfl hj
    · simp only [if_neg hj]; exact hz t k _ t0 t1 k0 k1 rfl (by omega)
  rw [sumI_congr h, sum_nest (fun j => if j < n then f j else 0)]
  simp only [sumI_foldZ, foldZ_eq]
  rw [fold_trunc _ n (T * K) hn (fun k h1 _ => if_neg (by omega))]
  exact fold_congr fun i hi => if_pos (by omega)

variable {L : Launch} {gown : Nat → Int → Option Nat} {b : Nat} {β : BSt R}

/-- A loop of `N` rounds: `A k` holds at the test before round `k`. -/
theorem count_loop {c : BExpr} {body : Stmt} {Q : BSt R → Prop} (N : Nat) (A : Int → Nat → St R → Prop)
    (h0 : Each L (A 0) β)
    (hc : ∀ (k : Int) β, 0 ≤ k → k ≤ (N : Int) → Each L (A k) β → ∀ t : Nat, t < L.block.count →
      c.ok (L.env b t) (β.thread t) ∧ (c.val (L.env b t) (β.thread t) ↔ k < (N : Int)))
    (hb : ∀ (k : Int) β, 0 ≤ k → k < (N : Int) → Each L (A k) β → blockWp L gown b body (Each L (A (k + 1))) β)
    (hx : ∀ β, Each L (A N) β → Q β) : blockWp L gown b (.while c body) Q β := by
  refine block_while N (fun k => Each L (A k)) h0 ?_ ?_ ?_
  · intro k β hk h t ht
    have := hc k β (by omega) (by omega) h t ht
    exact ⟨this.1, this.2.mpr (by omega)⟩
  · intro k β hk h
    exact hb k β (by omega) (by omega) h
  · intro β h
    refine ⟨fun t ht => ?_, hx β h⟩
    have := hc N β (by omega) (by omega) h t ht
    exact ⟨this.1, fun hv => by have := this.2.mp hv; omega⟩

end KShell.Auto
