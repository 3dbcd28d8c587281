module

public import KShell.Auto.Fold
public import KShell.Auto.Phases

/-!
# Folds that a block computes together

`foldZ op e f n` folds `f 0 ... f (n - 1)`; the sums and maxima of the prover are instances. Partial
results of threads make one fold (`foldZ_strided`), a halving loop keeps the fold of the cells that
are left (`tree_loop`).
-/

@[expose] public section
noncomputable section
namespace KShell.Auto
open scoped Classical
set_option linter.unusedSectionVars false

section fold
variable {α : Type} (op : α → α → α) (e : α)

/-- `f 0 ∘ ... ∘ f (n - 1)`, with unit `e`; the counter is an integer. -/
def foldZ (f : Int → α) : Nat → α
  | 0 => e
  | n + 1 => op (foldZ f n) (f n)

variable {op e} {f g : Int → α}

theorem foldZ_eq (n : Nat) : foldZ op e f n = foldTo op e (fun k => f k) n := by
  induction n with
  | zero => rfl
  | succ n ih => simp only [foldZ, foldTo, ih]

theorem foldZ_congr {n : Nat} (h : ∀ i : Int, 0 ≤ i → i < n → f i = g i) : foldZ op e f n = foldZ op e g n := by
  induction n with
  | zero => rfl
  | succ n ih =>
    simp only [foldZ]
    rw [ih (fun i h0 h1 => h i h0 (by omega)), h n (by omega) (by omega)]

variable [Std.Associative op] [Std.Commutative op] [Std.LawfulIdentity op e]

theorem foldZ_one : foldZ op e f 1 = f 0 := by
  simp only [foldZ]; exact Std.LawfulLeftIdentity.left_id _

/-- One round of a tree: the first half takes in the second. -/
theorem foldZ_halve (n : Nat) : foldZ op e (fun i => op (f i) (f (i + n))) n = foldZ op e f (2 * n) := by
  rw [foldZ_eq, foldZ_eq, Nat.two_mul, fold_add, fold_op]
  congr 1
  exact fold_congr fun i _ => by congr 1; omega

/-- `T` threads fold the elements `t, t + T, ...` below `n`, and their results are folded. -/
theorem foldZ_strided (T n : Nat) (hT : 0 < T) (count : Int → Nat)
    (hc : ∀ t : Int, 0 ≤ t → t < T → count t = ((n - t + (T - 1)) / T).toNat) :
    foldZ op e (fun t => foldZ op e (fun k => f (t + T * k)) (count t)) T = foldZ op e f n := by
  let g : Nat → α := fun i => if i < n then f i else e
  let K := (n + T - 1) / T
  have hK : n ≤ T * K := by
    have h1 := Nat.div_add_mod (n + T - 1) T
    have h2 := Nat.mod_lt (n + T - 1) hT
    show n ≤ T * ((n + T - 1) / T); omega
  have h1 : foldZ op e f n = foldTo op e g (T * K) := by
    rw [foldZ_eq, fold_trunc g n (T * K) hK (fun k h _ => if_neg (by omega))]
    exact fold_congr fun i hi => (if_pos hi).symm
  rw [h1, ← fold_strided, foldZ_eq]
  refine fold_congr fun t ht => ?_
  rw [foldZ_eq]
  have hcnt : count t = (n - t + (T - 1)) / T := by
    rw [hc t (by omega) (by omega)]
    by_cases h : t ≤ n
    · rw [show ((n : Int) - t + (T - 1)) = ((n - t + (T - 1) : Nat) : Int) by omega, ← Int.natCast_ediv, Int.toNat_natCast]
    · rw [show n - t + (T - 1) = T - 1 by omega, Nat.div_eq_of_lt (by omega)]
      have : ((n : Int) - t + (T - 1)) / T = 0 := Int.ediv_eq_zero_of_lt (by omega) (by omega)
      rw [this]; rfl
  have key : ∀ k, k < count t ↔ t + T * k < n := by
    intro k; rw [hcnt, Nat.lt_div_iff_mul_lt hT, Nat.mul_comm]; omega
  have hle : count t ≤ K := by
    apply Nat.le_of_not_lt
    intro h
    have h2 := (key K).mp h
    omega
  rw [fold_trunc (fun k => g (t + T * k)) (count t) K hle (fun k h _ => if_neg (fun h2 => by
    have := (key k).mpr h2; omega))]
  refine fold_congr fun k hk => ?_
  have h2 := (key k).mp hk
  show f _ = g _
  simp only [g, if_pos h2]
  congr 1

/-- Consecutive pieces of `T` elements make one fold. -/
theorem foldZ_nest (T K : Nat) :
    foldZ op e (fun k => foldZ op e (fun t => f (T * k + t)) T) K = foldZ op e f (T * K) := by
  rw [foldZ_eq, foldZ_eq, ← fold_nest]
  refine fold_congr fun k _ => ?_
  rw [foldZ_eq]
  exact fold_congr fun t _ => by congr 1

/-- `T` threads fold chunks of `E` adjacent elements, as far as there are so many below `n`, and their
results are folded. -/
theorem foldZ_chunks (T E n : Nat) (hn : n ≤ E * T) {g : Int → Int → α} (count : Int → Nat)
    (hc : ∀ t : Int, 0 ≤ t → t < T → ((count t : Nat) : Int) = max 0 (min (E : Int) ((n : Int) - (E : Int) * t)))
    (hg : ∀ t k j : Int, 0 ≤ t → t < T → 0 ≤ k → j = E * t + k → j < n → g t k = f j) :
    foldZ op e (fun t => foldZ op e (g t) (count t)) T = foldZ op e f n := by
  let F : Int → α := fun j => if j < n then f j else e
  have h1 : foldZ op e f n = foldZ op e F (E * T) := by
    rw [foldZ_eq, foldZ_eq, fold_trunc (fun k : Nat => F k) n (E * T) hn (fun k h _ => if_neg (by omega))]
    exact fold_congr fun i hi => (if_pos (by omega)).symm
  rw [h1, ← foldZ_nest E T]
  refine foldZ_congr fun t t0 t1 => ?_
  have h2 := hc t t0 t1
  have h3 : count t ≤ E := by omega
  rw [foldZ_eq, foldZ_eq,
    fold_trunc (fun k : Nat => F (E * t + k)) (count t) E h3 (fun k h _ => if_neg (by omega))]
  refine fold_congr fun k hk => ?_
  have h4 : (E : Int) * t + k < n := by omega
  show g t k = F (E * t + k)
  simp only [F, if_pos h4]
  exact hg t k _ t0 t1 (by omega) rfl h4

end fold

section instances
variable {R : Type} [ExactReal R] {f : Int → R} {n : Nat}

theorem sumI_foldZ : sumI f n = foldZ (· + ·) 0 f n := by
  induction n with
  | zero => rfl
  | succ n ih => rw [sumI, foldZ, ih]

theorem maxE_foldZ : maxE f n = foldZ Ext.max (.ninf : Ext R) (fun i => Ext.fin (f i)) n := by
  induction n with
  | zero => rfl
  | succ n ih => rw [maxE, foldZ, ih]

/-- Strided partial sums of `T` threads. -/
theorem sum_strided (f : Int → R) (g : Int → Int → R) (T n : Nat) (hT : 0 < T) (count : Int → Nat)
    (hc : ∀ t : Int, 0 ≤ t → t < T → count t = ((n - t + (T - 1)) / T).toNat)
    (hg : ∀ t k j : Int, j = t + T * k → g t k = f j) :
    foldZ (· + ·) 0 (fun t => sumI (g t) (count t)) T = sumI f n := by
  have h : ∀ t, g t = fun k => f (t + T * k) := fun t => funext fun k => hg t k _ rfl
  simp only [sumI_foldZ, h]; exact foldZ_strided T n hT count hc

/-- Strided partial maxima of `T` threads. -/
theorem max_strided (f : Int → R) (g : Int → Int → R) (T n : Nat) (hT : 0 < T) (hn : 0 < n) (count : Int → Nat)
    (hc : ∀ t : Int, 0 ≤ t → t < T → count t = ((n - t + (T - 1)) / T).toNat)
    (hg : ∀ t k j : Int, j = t + T * k → g t k = f j) :
    foldZ Ext.max (.ninf : Ext R) (fun t => maxE (g t) (count t)) T = .fin (maxI f n) := by
  have h : ∀ t, g t = fun k => f (t + T * k) := fun t => funext fun k => hg t k _ rfl
  rw [← maxE_fin hn]; simp only [maxE_foldZ, h]
  exact foldZ_strided (f := fun i => Ext.fin (f i)) T n hT count hc

/-- Partial sums over chunks. -/
theorem sum_chunks (f : Int → R) (g : Int → Int → R) (T E n : Nat) (hn : n ≤ E * T) (count : Int → Nat)
    (hc : ∀ t : Int, 0 ≤ t → t < T → ((count t : Nat) : Int) = max 0 (min (E : Int) ((n : Int) - (E : Int) * t)))
    (hg : ∀ t k j : Int, 0 ≤ t → t < T → 0 ≤ k → j = E * t + k → j < n → g t k = f j) :
    foldZ (· + ·) 0 (fun t => sumI (g t) (count t)) T = sumI f n := by
  simp only [sumI_foldZ]; exact foldZ_chunks T E n hn count hc hg

/-- Partial maxima over chunks. -/
theorem max_chunks (f : Int → R) (g : Int → Int → R) (T E n : Nat) (hn : n ≤ E * T) (h0 : 0 < n) (count : Int → Nat)
    (hc : ∀ t : Int, 0 ≤ t → t < T → ((count t : Nat) : Int) = max 0 (min (E : Int) ((n : Int) - (E : Int) * t)))
    (hg : ∀ t k j : Int, 0 ≤ t → t < T → 0 ≤ k → j = E * t + k → j < n → g t k = f j) :
    foldZ Ext.max (.ninf : Ext R) (fun t => maxE (g t) (count t)) T = .fin (maxI f n) := by
  rw [← maxE_fin h0]; simp only [maxE_foldZ]
  exact foldZ_chunks (f := fun i => Ext.fin (f i)) T E n hn count hc
    fun t k j t0 t1 k0 hj jn => congrArg Ext.fin (hg t k j t0 t1 k0 hj jn)

/-- Sums over consecutive pieces. -/
theorem sum_nest (f : Int → R) (T K : Nat) :
    sumI (fun k => sumI (fun t => f (T * k + t)) T) K = sumI f (T * K) := by
  simp only [sumI_foldZ]; exact foldZ_nest T K

end instances

section loop
variable {R : Type} [ExactReal R] {L : Launch} {gown : Nat → Int → Option Nat} {b : Nat} {β : BSt R}
variable {α : Type} {op : α → α → α} {e : α} [Std.Associative op] [Std.Commutative op] [Std.LawfulIdentity op e]

/-- A halving loop: `A w C` says that the stride is `w` and that the cells in use hold `C`. In a round
cell `i` takes in cell `i + w`; at the end cell 0 holds the fold of all. -/
theorem tree_loop {c : BExpr} {body : Stmt} {Q : BSt R → Prop} (m : Nat) (A : Int → (Int → α) → Nat → St R → Prop)
    {C0 : Int → α} {total : α} {w0 : Int} (hw0 : w0 = ((2 ^ m : Nat) : Int)) (h0 : Each L (A w0 C0) β)
    (ht : foldZ op e C0 (2 * 2 ^ m) = total)
    (hc : ∀ w C β, 0 ≤ w → w ≤ w0 → Each L (A w C) β → ∀ t : Nat, t < L.block.count →
      c.ok (L.env b t) (β.thread t) ∧ (c.val (L.env b t) (β.thread t) ↔ 1 ≤ w))
    (hs : ∀ w C β, 1 ≤ w → w ≤ w0 → Each L (A w C) β →
      blockWp L gown b body (Each L (A (w / 2) (fun i => op (C i) (C (i + w))))) β)
    (hx : ∀ C β, C 0 = total → Each L (A 0 C) β → Q β) : blockWp L gown b (.while c body) Q β := by
  subst hw0
  have pw : ∀ k, 2 ^ k ≤ 2 ^ m ∨ m < k := by
    intro k
    by_cases h : k ≤ m
    · exact .inl (Nat.pow_le_pow_right (by omega) h)
    · exact .inr (by omega)
  refine block_while (m + 1) (fun k β => ∃ C, (if k = m + 1 then C 0 = total ∧ Each L (A 0 C) β else
    k ≤ m ∧ foldZ op e C (2 * 2 ^ (m - k)) = total ∧ Each L (A ((2 ^ (m - k) : Nat) : Int) C) β)) ?_ ?_ ?_ ?_
  · refine ⟨C0, ?_⟩
    rw [if_neg (by omega)]; exact ⟨by omega, by simpa using ht, by simpa using h0⟩
  · rintro k β hk ⟨C, h⟩ t htt
    rw [if_neg (by omega)] at h
    have h1 := Nat.two_pow_pos (m - k)
    have h2 := (pw (m - k)).resolve_right (by omega)
    have h3 := hc _ C β (by omega) (by omega) h.2.2 t htt
    exact ⟨h3.1, h3.2.mpr (by omega)⟩
  · rintro k β hk ⟨C, h⟩
    rw [if_neg (by omega)] at h
    have h1 := Nat.two_pow_pos (m - k)
    have h2 := (pw (m - k)).resolve_right (by omega)
    refine blockWp_mono (fun β' h' =>
      ⟨fun i => op (C i) (C (i + ((2 ^ (m - k) : Nat) : Int))), ?_⟩) (hs _ C β (by omega) (by omega) h.2.2)
    have hf := foldZ_halve (op := op) (e := e) (f := C) (2 ^ (m - k))
    by_cases hkm : k = m
    · rw [if_pos (by omega)]
      subst hkm
      simp only [Nat.sub_self, Nat.pow_zero] at hf h h' ⊢
      rw [foldZ_one] at hf
      exact ⟨hf.trans h.2.1, h'⟩
    · rw [if_neg (by omega)]
      have hp : 2 ^ (m - k) = 2 * 2 ^ (m - (k + 1)) := by
        rw [show m - k = (m - (k + 1)) + 1 by omega, Nat.pow_succ, Nat.mul_comm]
      refine ⟨by omega, ?_, ?_⟩
      · rw [← hp]; exact hf.trans h.2.1
      · have : ((2 ^ (m - k) : Nat) : Int) / 2 = ((2 ^ (m - (k + 1)) : Nat) : Int) := by omega
        rw [this] at h'; exact h'
  · rintro β ⟨C, h⟩
    rw [if_pos rfl] at h
    refine ⟨fun t htt => ?_, hx C β h.1 h.2⟩
    have hp := Nat.two_pow_pos m
    have h3 := hc 0 C β (by omega) (by omega) h.2 t htt
    exact ⟨h3.1, fun hv => by have := h3.2.mp hv; omega⟩

end loop

end KShell.Auto
