module

public import KShell.Auto.Warps

/-!
# Rows whose elements a block shares out evenly

Every thread folds the same number of groups of elements, every so many groups one, and the results of
threads are folded by warps. Here such folds are one fold over the elements, also maxima that are finite
at every step.
-/

@[expose] public section
noncomputable section
namespace KShell.Auto
set_option linter.unusedSectionVars false

section fold
variable {α : Type} {op : α → α → α} {e : α} [Std.Associative op] [Std.Commutative op] [Std.LawfulIdentity op e]

/-- `T` threads fold `K` elements each, thread `t` the elements `t, t + T, ...`. -/
theorem foldZ_even (f : Int → α) (T K : Nat) :
    foldZ op e (fun t => foldZ op e (fun k => f (t + T * k)) K) T = foldZ op e f (T * K) := by
  rw [foldZ_eq, foldZ_eq, ← fold_strided]
  refine fold_congr fun t _ => ?_
  rw [foldZ_eq]
  exact fold_congr fun k _ => by congr 1

/-- The same when warps fold the results of their threads: `h w l k` is what lane `l` of warp `w` folds in
step `k`. -/
theorem foldZ_slots (h : Int → Int → Int → α) (g : Int → α) (W K T n : Nat) (hT : 32 * W = T) (hn : T * K = n)
    (hg : ∀ w l k q : Int, 0 ≤ w → w < W → 0 ≤ l → l < 32 → 0 ≤ k → k < K → q = 32 * w + l + T * k → h w l k = g q) :
    foldZ op e (fun w => foldZ op e (fun l => foldZ op e (h w l) K) 32) W = foldZ op e g n := by
  subst hT; subst hn
  rw [← foldZ_even, ← foldZ_nest (f := fun t => foldZ op e (fun k => g (t + (32 * W : Nat) * k)) K) 32 W]
  refine foldZ_congr fun w w0 w1 => foldZ_congr fun l l0 l1 => foldZ_congr fun k k0 k1 => ?_
  exact hg w l k _ w0 w1 l0 (by omega) k0 k1 rfl

/-- Groups of `C` consecutive elements. -/
theorem foldZ_groups (f : Int → α) (g : Int → Int → α) (C N n : Nat) (hn : C * N = n)
    (hg : ∀ q c j : Int, 0 ≤ c → c < C → j = C * q + c → g q c = f j) :
    foldZ op e (fun q => foldZ op e (g q) C) N = foldZ op e f n := by
  subst hn
  rw [← foldZ_nest]
  exact foldZ_congr fun q _ _ => foldZ_congr fun c c0 c1 => hg q c _ c0 c1 rfl

end fold

variable {R : Type} [ExactReal R]

attribute [local irreducible] sumI maxI maxE foldZ

theorem maxI_foldZ {f : Int → R} {n : Nat} (hn : 0 < n) :
    foldZ Ext.max (.ninf : Ext R) (fun i => .fin (f i)) n = .fin (maxI f n) :=
  maxE_foldZ.symm.trans (maxE_fin hn)

/-- A fold of values that are all finite. -/
theorem max_finite {V : Int → Ext R} {f : Int → R} {n : Nat} (hn : 0 < n)
    (h : ∀ i : Int, 0 ≤ i → i < n → V i = .fin (f i)) : foldZ Ext.max (.ninf : Ext R) V n = .fin (maxI f n) :=
  (foldZ_congr h).trans (maxI_foldZ hn)

/-- Sums of warps over slots `F`, of lanes, and of `K` groups in each lane. -/
theorem sum_rows (F : Int → R) (h : Int → Int → Int → R) (g : Int → R) (W K T n : Nat) (hT : 32 * W = T)
    (hn : T * K = n) (_ : 0 < n)
    (hF : ∀ w : Int, 0 ≤ w → w < W → F w = sumI (fun l => sumI (h w l) K) 32)
    (hg : ∀ w l k q : Int, 0 ≤ w → w < W → 0 ≤ l → l < 32 → 0 ≤ k → k < K → q = 32 * w + l + T * k → h w l k = g q) :
    sumI F W = sumI g n := by
  rw [sumI_congr hF]
  simp only [sumI_foldZ]
  exact foldZ_slots h g W K T n hT hn hg

/-- Sums over groups of `C` consecutive elements. -/
theorem sum_groups (f : Int → R) (g : Int → Int → R) (C N n : Nat) (hn : C * N = n) (_ : 0 < n)
    (hg : ∀ q c j : Int, 0 ≤ c → c < C → j = C * q + c → g q c = f j) :
    sumI (fun q => sumI (g q) C) N = sumI f n := by
  simp only [sumI_foldZ]
  exact foldZ_groups f g C N n hn hg

/-- Maxima of warps over slots `F`, of lanes, and of `K` groups in each lane. -/
theorem max_rows (F : Int → R) (h : Int → Int → Int → R) (g : Int → R) (W K T n : Nat) (hT : 32 * W = T)
    (hn : T * K = n) (h0 : 0 < n)
    (hF : ∀ w : Int, 0 ≤ w → w < W → F w = maxI (fun l => maxI (h w l) K) 32)
    (hg : ∀ w l k q : Int, 0 ≤ w → w < W → 0 ≤ l → l < 32 → 0 ≤ k → k < K → q = 32 * w + l + T * k → h w l k = g q) :
    maxI F W = maxI g n := by
  have hK : 0 < K := Nat.pos_of_ne_zero fun e => by rw [e, Nat.mul_zero] at hn; omega
  have hW : 0 < W := Nat.pos_of_ne_zero fun e => by rw [e, Nat.mul_zero] at hT; rw [← hT, Nat.zero_mul] at hn; omega
  refine Ext.fin.inj ?_
  rw [maxI_congr hW hF]
  calc Ext.fin (maxI (fun w => maxI (fun l => maxI (h w l) K) 32) W)
    _ = foldZ Ext.max (.ninf : Ext R) (fun w => .fin (maxI (fun l => maxI (h w l) K) 32)) W := (maxI_foldZ hW).symm
    _ = foldZ Ext.max (.ninf : Ext R) (fun w => foldZ Ext.max .ninf (fun l => foldZ Ext.max .ninf (fun k => .fin (h w l k)) K) 32) W :=
      foldZ_congr fun w _ _ => (max_finite (by omega) fun l _ _ => maxI_foldZ hK).symm
    _ = foldZ Ext.max (.ninf : Ext R) (fun q => .fin (g q)) n :=
      foldZ_slots (fun w l k => Ext.fin (h w l k)) (fun q => Ext.fin (g q)) W K T n hT hn fun w l k q a b c d e f i =>
        congrArg Ext.fin (hg w l k q a b c d e f i)
    _ = .fin (maxI g n) := maxI_foldZ h0

/-- Maxima over groups of `C` consecutive elements. -/
theorem max_groups (f : Int → R) (g : Int → Int → R) (C N n : Nat) (hn : C * N = n) (h0 : 0 < n)
    (hg : ∀ q c j : Int, 0 ≤ c → c < C → j = C * q + c → g q c = f j) :
    maxI (fun q => maxI (g q) C) N = maxI f n := by
  have hC : 0 < C := Nat.pos_of_ne_zero fun e => by rw [e, Nat.zero_mul] at hn; omega
  have hN : 0 < N := Nat.pos_of_ne_zero fun e => by rw [e, Nat.mul_zero] at hn; omega
  refine Ext.fin.inj ?_
  calc Ext.fin (maxI (fun q => maxI (g q) C) N)
    _ = foldZ Ext.max (.ninf : Ext R) (fun q => foldZ Ext.max .ninf (fun c => .fin (g q c)) C) N :=
      (max_finite hN fun q _ _ => maxI_foldZ hC).symm
    _ = foldZ Ext.max (.ninf : Ext R) (fun j => .fin (f j)) n :=
      foldZ_groups (fun j => Ext.fin (f j)) (fun q c => Ext.fin (g q c)) C N n hn fun q c j a b d =>
        congrArg Ext.fin (hg q c j a b d)
    _ = .fin (maxI f n) := maxI_foldZ h0

end KShell.Auto
