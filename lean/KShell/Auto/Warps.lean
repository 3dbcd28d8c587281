module

public import KShell.Auto.Tile
public import KShell.Rules.Shuffle

/-!
# Phases with warp shuffles

A phase is thread code that stores nothing, reductions by shuffles, and at last thread code that may
store. The owners of the cells are those of the last part for the whole phase, since a shuffle orders no
memory.
-/

@[expose] public section
noncomputable section
namespace KShell.Auto
open scoped Classical
set_option linter.unusedSectionVars false

variable {R : Type} [ExactReal R]

/-- The warp that owns a cell, from its owning thread. -/
def warpOwn (L : Launch) (own : Nat → Int → Option Nat) (a : Nat) (i : Int) : Option Nat :=
  match own a i with
  | some t => if t < L.block.count then some (t / 32) else none
  | none => none

/-- The lane that owns a cell, from its owning thread. -/
def laneOwn (L : Launch) (own : Nat → Int → Option Nat) (a : Nat) (i : Int) : Own (Ext R) :=
  match own a i with
  | some t => if t < L.block.count then .lane (t % 32) else .free
  | none => .free

/-- Warp `w` of block `b` in a phase with thread owners `own`. -/
abbrev warpOf (L : Launch) (gown : Nat → Int → Option Nat) (b : Nat) (own : Nat → Int → Option Nat) (w : Nat) : WarpCtx :=
  warpCtx L gown b (warpOwn L own) w

section sums
variable {f g : Int → R} {n m : Nat}

theorem sumI_congr2 (hn : n = m) (h : ∀ i : Int, 0 ≤ i → i < n → f i = g i) : sumI f n = sumI g m := by
  subst hn; exact sumI_congr h

/-- The sum over `W` slots is the sum `total` that the partial sums of `T` threads make up, when each slot
holds the sum over the 32 lanes of a warp; for any form of the slots `F`, of the partial sums `h` and of their
lengths `cnt`. -/
theorem sum_slots (F : Int → R) (h : Int → Int → Int → R) (cnt : Int → Int → Nat) (g : Int → Int → R)
    (count : Int → Nat) (W T : Nat) (hT : T = 32 * W) {total : R}
    (hs : foldZ (· + ·) 0 (fun t => sumI (g t) (count t)) T = total)
    (hF : ∀ w : Int, 0 ≤ w → w < W → F w = sumI (fun l => sumI (h w l) (cnt w l)) 32)
    (hn : ∀ w l t : Int, 0 ≤ w → w < W → 0 ≤ l → l < 32 → t = 32 * w + l → cnt w l = count t)
    (hh : ∀ w l k t : Int, t = 32 * w + l → h w l k = g t k) : sumI F W = total := by
  subst hT
  rw [sumI_congr hF, ← hs, ← sumI_foldZ, ← sum_nest (f := fun t => sumI (g t) (count t)) 32 W]
  refine sumI_congr fun w w0 w1 => sumI_congr fun l l0 l1 => ?_
  have e : h w l = g ((32 : Nat) * w + l) := funext fun k => hh w l k _ rfl
  rw [hn w l ((32 : Nat) * w + l) w0 w1 l0 l1 rfl, e]

theorem maxE_congr2 (hn : n = m) (h : ∀ i : Int, 0 ≤ i → i < n → f i = g i) : maxE f n = maxE g m := by
  subst hn
  rw [maxE_foldZ, maxE_foldZ]
  exact foldZ_congr fun i h0 h1 => congrArg Ext.fin (h i h0 h1)

/-- The same for maxima. -/
theorem max_slots (F : Int → Ext R) (h : Int → Int → Int → R) (cnt : Int → Int → Nat) (g : Int → Int → R)
    (count : Int → Nat) (W T : Nat) (hT : T = 32 * W) {total : Ext R}
    (hs : foldZ Ext.max (.ninf : Ext R) (fun t => maxE (g t) (count t)) T = total)
    (hF : ∀ w : Int, 0 ≤ w → w < W → F w = foldZ Ext.max (.ninf : Ext R) (fun l => maxE (h w l) (cnt w l)) 32)
    (hn : ∀ w l t : Int, 0 ≤ w → w < W → 0 ≤ l → l < 32 → t = 32 * w + l → cnt w l = count t)
    (hh : ∀ w l k t : Int, t = 32 * w + l → h w l k = g t k) : foldZ Ext.max (.ninf : Ext R) F W = total := by
  subst hT
  rw [foldZ_congr hF, ← hs, ← foldZ_nest (f := fun t => maxE (g t) (count t)) 32 W]
  refine foldZ_congr fun w w0 w1 => foldZ_congr fun l l0 l1 => ?_
  have e : h w l = g ((32 : Nat) * w + l) := funext fun k => hh w l k _ rfl
  rw [hn w l ((32 : Nat) * w + l) w0 w1 l0 l1 rfl, e]

end sums

section folds
variable {α : Type} {op : α → α → α} {e : α} {f : Int → α} {k : Int}

theorem foldZ_zero : foldZ op e f 0 = e := rfl

theorem foldZ_step (hk : 0 ≤ k) : foldZ op e f (k + 1).toNat = op (foldZ op e f k.toNat) (f k) := by
  obtain ⟨n, rfl⟩ := Int.eq_ofNat_of_zero_le hk
  have h : ((n : Int) + 1).toNat = n + 1 := by omega
  rw [h, Int.toNat_natCast]; rfl

end folds

section owners
variable {L : Launch} {own : Nat → Int → Option Nat} {a : Nat} {i : Int} {t : Nat}

theorem warpOwn_some (h : own a i = some t) (ht : t < L.block.count) : warpOwn L own a i = some (t / 32) := by
  simp only [warpOwn, h, if_pos ht]

theorem laneOwn_some (h : own a i = some t) (ht : t < L.block.count) :
    laneOwn (R := R) L own a i = .lane (t % 32) := by
  simp only [laneOwn, h, if_pos ht]

theorem laneOwn_same {v : Ext R} : laneOwn L own a i ≠ .same v := by
  unfold laneOwn; split
  · split <;> simp
  · simp

end owners

/-- The lanes of a warp satisfy their assertions; the phase has written nothing yet. -/
structure Lanes (L : Launch) (own : Nat → Int → Option Nat) (w : Nat) (M : Mem R) (A : Nat → St R → Prop) (σ : WSt R) :
    Prop where
  /-- The memory is that of the start of the phase. -/
  mem : σ.mem = M
  /-- The owners are those of the phase. -/
  owns : σ.own = laneOwn L own
  /-- Every lane satisfies its assertion. -/
  lane : ∀ l, l < 32 → 32 * w + l < L.block.count → A (32 * w + l) ⟨σ.reg l, M⟩

/-- The lanes of a warp have ended the phase. -/
structure Ended (L : Launch) (own : Nat → Int → Option Nat) (w : Nat) (B : Nat → St R → Prop) (σ : WSt R) : Prop where
  /-- The owners are those of the phase. -/
  owns : σ.own = laneOwn L own
  /-- Every lane has ended in its post and left its cells so. -/
  lane : ∀ l, l < 32 → 32 * w + l < L.block.count → ∃ s, B (32 * w + l) s ∧ σ.reg l = s.reg ∧
    ∀ a i, own a i = some (32 * w + l) → σ.mem a i = s.mem a i

variable {L : Launch} {gown : Nat → Int → Option Nat} {b w : Nat} {β : BSt R} {A B C : Nat → St R → Prop}
  {own : Nat → Int → Option Nat} {p q : Stmt} {M : Mem R} {σ : WSt R}

theorem ended_merged {β' : BSt R} (h : Merged L (warpOwn L own) (fun w => Ended L own w B) β β') :
    AfterPhase L own B β β' := by
  obtain ⟨H1, H2⟩ := h
  refine ⟨fun t ht => ?_, fun a i ho => H2 a i fun w _ he => ?_⟩
  · obtain ⟨σ, h3, h4, h5⟩ := H1 (t / 32) (by simp only [Launch.warps]; omega)
    have et : 32 * (t / 32) + t % 32 = t := by omega
    obtain ⟨s, h6, h7, h8⟩ := h3.lane (t % 32) (by omega) (by omega)
    rw [et] at h6 h8
    refine ⟨s, h6, (h4 (t % 32) (by omega)).trans h7, fun a i ho => ?_⟩
    rw [h5 a i (warpOwn_some ho ht), h8 a i ho]
  · unfold warpOwn at he; split at he
    · next t ht => split at he
                   · next hl => exact ho t hl ht
                   · cases he
    · cases he

theorem phase_warps (h0 : Each L A β)
    (h1 : ∀ w, w < L.warps → ∀ σ, Lanes L own w β.mem A σ → warpWp (warpOf L gown b own w) p (Ended L own w B) σ) :
    PhaseWarps L gown b (warpOwn L own) p (fun w => Ended L own w B) β := by
  intro w hw
  refine ⟨laneOwn L own, warpWp_mono (fun σ h => ⟨h, fun a i v hs => ?_⟩) (h1 w hw ⟨β.reg w, β.mem, laneOwn L own⟩ ⟨rfl, rfl, fun l hl hv => ?_⟩)⟩
  · rw [h.owns] at hs; exact absurd hs laneOwn_same
  · have := h0 (32 * w + l) hv
    rwa [β.thread_eq hl] at this

/-- A phase with shuffles up to a barrier. -/
theorem each_phase_warps (hb : b < L.grid.count) (hn : 0 < L.block.count) (h0 : Each L A β)
    (h1 : ∀ w, w < L.warps → ∀ σ, Lanes L own w β.mem A σ → warpWp (warpOf L gown b own w) p (Ended L own w B) σ)
    (h2 : ∀ β', AfterPhase L own B β β' → Each L C β') : blockWp L gown b (.seq p .barrier) (Each L C) β :=
  block_phase hb hn (warpOwn L own) _ (phase_warps h0 h1) fun β' h => h2 β' (ended_merged h)

/-- A last phase with shuffles. -/
theorem each_last_warps {Q : Mem R → Prop} (hb : b < L.grid.count) (h0 : Each L A β)
    (h1 : ∀ w, w < L.warps → ∀ σ, Lanes L own w β.mem A σ → warpWp (warpOf L gown b own w) p (Ended L own w B) σ)
    (h2 : ∀ β', AfterPhase L own B β β' → Q β'.mem) : kernelWp L gown b p Q β :=
  kernel_phase hb (warpOwn L own) _ (phase_warps h0 h1) fun β' h => h2 β' (ended_merged h)

/-- Code that stores nothing. -/
def storeless : Stmt → Prop
  | .store _ _ _ => False
  | .seq a b | .ite _ a b => storeless a ∧ storeless b
  | .while _ p => storeless p
  | _ => True

theorem wp_storeless (E : Env R) (P : Perm R) (p : Stmt) :
    storeless p → ∀ {Q : St R → Prop} s, p.wp E P Q s → p.wp E ⟨P.rd, fun _ _ _ => False⟩ Q s := by
  induction p with
  | store => intro h; exact absurd h (by simp [storeless])
  | seq a b iha ihb =>
    intro ⟨ha, hb⟩ Q s h
    exact Stmt.wp_mono E _ a s (fun s' h' => ihb hb s' h') (iha ha s h)
  | ite c a b iha ihb =>
    intro ⟨ha, hb⟩ Q s ⟨h1, h2, h3⟩
    exact ⟨h1, fun hc => iha ha s (h2 hc), fun hc => ihb hb s (h3 hc)⟩
  | «while» c body ih =>
    intro hp Q s ⟨n, hn⟩
    exact ⟨n, whileN_mono (fun Q Q' s h h' => ih hp s (Stmt.wp_mono E P body s h h')) (fun _ h => h) n s hn⟩
  | _ => intro _ Q s h; exact h

theorem lane_perm {l : Nat} (hl : l < 32) (hv : 32 * w + l < L.block.count) {Q : St R → Prop} {s : St R}
    (h : p.wp (L.env b (32 * w + l : Nat)) (threadPerm L gown b own (32 * w + l)) Q s) :
    p.wp ((warpOf L gown b own w).env l) ((warpOf L gown b own w).perm (laneOwn L own) l) Q s := by
  refine Stmt.wp_perm _ _ _ _ _ _ ?_ ?_ h
  · rintro a i ⟨g1, g2 | g2⟩
    · exact ⟨⟨g1, .inl (by simp only [warpOwn, g2])⟩, .inl (by simp only [laneOwn, g2])⟩
    · refine ⟨⟨g1, .inr ((warpOwn_some g2 hv).trans (congrArg some ?_))⟩, .inr ((laneOwn_some g2 hv).trans (congrArg Own.lane ?_))⟩ <;> omega
  · rintro a i x ⟨g1, g2⟩
    refine ⟨⟨g1, (warpOwn_some g2 hv).trans (congrArg some ?_)⟩, .inl ((laneOwn_some g2 hv).trans (congrArg Own.lane ?_))⟩ <;> omega

/-- Thread code that stores nothing. -/
theorem lanes_run (hp : storeless p) (h0 : Lanes L own w M A σ) (h1 : Runs L gown b own A p B) :
    warpWp (warpOf L gown b own w) p (Lanes L own w M B) σ := by
  refine warp_run_pure (fun l r => B (32 * w + l) ⟨r, M⟩) (fun l hl hv => ?_) (fun σ' ho hm hr =>
    ⟨hm.trans h0.mem, ho.trans h0.owns, hr⟩)
  have h := wp_storeless _ _ _ hp _ (h1 (32 * w + l) hv _ (h0.lane l hl hv))
  have h2 := Stmt.wp_inv _ (J := fun m => m = M) (fun _ _ _ _ _ h => absurd h (by simp)) p _ rfl h
  rw [h0.owns, h0.mem]
  have h3 := Stmt.wp_perm _ ⟨(threadPerm L gown b own (32 * w + l) : Perm R).rd, fun _ _ _ => False⟩
    (threadPerm L gown b own (32 * w + l)) p _ _ (fun _ _ h => h) (fun _ _ _ (h : False) => h.elim) h2
  refine Stmt.wp_mono _ _ _ _ (fun s ⟨g1, g2⟩ => ?_) (lane_perm (gown := gown) (own := own) hl hv h3)
  obtain ⟨r, m⟩ := s
  have e : m = M := g2
  exact ⟨e, e ▸ g1⟩

theorem warp_app {Q : WSt R → Prop} {W : WarpCtx} (h : warpWp W (.seq p q) Q σ) : warpWp W (app p q) Q σ := by
  simpa only [warpWp, tree_app] using h

/-- Thread code that stores nothing, then the rest of the phase. -/
theorem lanes_then {Q : WSt R → Prop} (hp : storeless p) (h0 : Lanes L own w M A σ) (h1 : Runs L gown b own A p B)
    (k : ∀ σ', Lanes L own w M B σ' → warpWp (warpOf L gown b own w) q Q σ') :
    warpWp (warpOf L gown b own w) (app p q) Q σ :=
  warp_app (warp_seq (warpWp_mono k (lanes_run hp h0 h1)))

/-- What is known of every lane may be said in another way. -/
theorem Lanes.imp (h0 : Lanes L own w M A σ)
    (h : ∀ t : Nat, t < L.block.count → t / 32 = w → ∀ s, A t s → B t s) : Lanes L own w M B σ :=
  ⟨h0.mem, h0.owns, fun l hl hv => h _ hv (by omega) _ (h0.lane l hl hv)⟩

/-- The last part of a phase. -/
theorem lanes_end (h0 : Lanes L own w M A σ) (h1 : Runs L gown b own A p B) :
    warpWp (warpOf L gown b own w) p (Ended L own w B) σ := by
  refine warp_run (fun l s => B (32 * w + l) s) (fun l hl hv => ?_) (fun σ' ho H1 _ _ _ => ⟨ho.trans h0.owns, fun l hl hv => ?_⟩)
  · rw [h0.owns, h0.mem]
    exact lane_perm hl hv (h1 (32 * w + l) hv _ (h0.lane l hl hv))
  · obtain ⟨s, h3, h4, h5⟩ := H1 l hl hv
    refine ⟨s, h3, h4, fun a i ho' => h5 a i ?_⟩
    rw [h0.owns, laneOwn_some ho' hv]; exact congrArg Own.lane (by omega)

section reduction
variable {α : Type} {op : α → α → α} {e : α} [Std.Associative op] [Std.Commutative op] [Std.LawfulIdentity op e]

/-- The values of a warp after some rounds: each folds the `n` values of its residue class modulo `p`. -/
def Folded (op : α → α → α) (e : α) (w p n : Nat) (V V' : Int → α) : Prop :=
  ∀ l, l < 32 → V' ((32 * w + l : Nat) : Int) = foldTo op e (fun q => V ((32 * w + (l % p + p * q) : Nat) : Int)) n

/-- The lane that an xor by `m` reads, by thread number. -/
def flipped (w m : Nat) (t : Int) : Int := ((32 * w + ((t.toNat % 32) ^^^ m) : Nat) : Int)

theorem flipped_lane {m l : Nat} (hl : l < 32) :
    flipped w m ((32 * w + l : Nat) : Int) = ((32 * w + (l ^^^ m) : Nat) : Int) := by
  simp only [flipped, Int.toNat_natCast]
  rw [show (32 * w + l) % 32 = l by omega]

/-- A loop in which every lane takes in the value of the lane at distance 16, 8, 4, 2, 1 by xor: every lane ends
with the fold of the warp. `A w V` says that the stride is `w` and that the lanes hold `V`. -/
theorem lanes_rounds {c : BExpr} {body : Stmt} {Q : WSt R → Prop} (hfull : 32 * w + 32 ≤ L.block.count)
    (A : Int → (Int → α) → Nat → St R → Prop) {V : Int → α}
    (h0 : Lanes L own w M (A 16 V) σ)
    (hc : ∀ k V (t : Nat) r, 0 ≤ k → k ≤ 16 → t < L.block.count → A k V t ⟨r, M⟩ →
      c.ok (L.env b t) r ∧ (c.val (L.env b t) r ↔ 1 ≤ k))
    (hs : ∀ (m : Nat) V σ', 1 ≤ m → m ≤ 16 →
      (∀ l, l < 32 → ShflKind.xor.source 32 l (m : Int) = some (l ^^^ m) ∧ l ^^^ m < 32) →
      Lanes L own w M (A m V) σ' → warpWp (warpOf L gown b own w) body
        (Lanes L own w M (A ((m : Int) / 2) fun t => op (V t) (V (flipped w m t)))) σ')
    (hx : ∀ V' σ', (∀ t : Nat, t / 32 = w → V' t = foldZ op e (fun l => V ((t : Int) / 32 * 32 + l)) 32) →
      Lanes L own w M (A 0 V') σ' → Q σ') :
    warpWp (warpOf L gown b own w) (.while c body) Q σ := by
  have hv : ∀ l, l < 32 → 32 * w + l < L.block.count := fun l hl => by omega
  refine warp_while 5 (fun k σ' => ∃ V', Folded op e w (32 / 2 ^ k) (2 ^ k) V V' ∧
    Lanes L own w M (A ((16 / 2 ^ k : Nat) : Int) V') σ') ?_ ?_ ?_ ?_
  · refine ⟨V, fun l hl => ?_, by simpa using h0⟩
    simp only [Nat.pow_zero, fold_one]
    rw [show l % (32 / 1) + 32 / 1 * 0 = l by omega]
  · rintro k σ' hk ⟨V', _, h⟩ l hl hv'
    have hp : 1 ≤ 16 / 2 ^ k ∧ 16 / 2 ^ k ≤ 16 := by
      obtain rfl | rfl | rfl | rfl | rfl : k = 0 ∨ k = 1 ∨ k = 2 ∨ k = 3 ∨ k = 4 := by omega
      all_goals decide
    have h2 := h.lane l hl hv'
    have := hc _ V' (32 * w + l) (σ'.reg l) (by omega) (by omega) hv' h2
    exact ⟨this.1, this.2.mpr (by omega)⟩
  · rintro k σ' hk ⟨V', hf, h⟩
    obtain ⟨m, hm, hm1, hm2, hp2, hp1, hh, hflip, hsrc⟩ : ∃ m : Nat, 16 / 2 ^ k = m ∧ 1 ≤ m ∧ m ≤ 16 ∧
        32 / 2 ^ k = 2 * m ∧ 32 / 2 ^ (k + 1) = m ∧ m / 2 = 16 / 2 ^ (k + 1) ∧ FlipsHalf m ∧
        ∀ l, l < 32 → ShflKind.xor.source 32 l (m : Int) = some (l ^^^ m) ∧ l ^^^ m < 32 := by
      obtain rfl | rfl | rfl | rfl | rfl : k = 0 ∨ k = 1 ∨ k = 2 ∨ k = 3 ∨ k = 4 := by omega
      · exact ⟨16, by decide, by decide, by decide, by decide, by decide, by decide, flips16, xor_source 16 (by omega)⟩
      · exact ⟨8, by decide, by decide, by decide, by decide, by decide, by decide, flips8, xor_source 8 (by omega)⟩
      · exact ⟨4, by decide, by decide, by decide, by decide, by decide, by decide, flips4, xor_source 4 (by omega)⟩
      · exact ⟨2, by decide, by decide, by decide, by decide, by decide, by decide, flips2, xor_source 2 (by omega)⟩
      · exact ⟨1, by decide, by decide, by decide, by decide, by decide, by decide, flips1, xor_source 1 (by omega)⟩
    rw [hm] at h
    rw [hp2] at hf
    refine warpWp_mono (fun σ2 h2 => ⟨fun t => op (V' t) (V' (flipped w m t)), fun l hl => ?_, ?_⟩)
      (hs m V' σ' hm1 hm2 hsrc h)
    · have step := butterfly_step (op := op) (e := e) (fun j => V ((32 * w + j : Nat) : Int))
        (fun l => V' ((32 * w + l : Nat) : Int)) m (2 ^ k) hflip hf l hl
      show op (V' _) (V' (flipped w m _)) = _
      rw [flipped_lane hl, hp1, Nat.pow_succ, Nat.mul_comm (2 ^ k) 2]; exact step
    · have : (m : Int) / 2 = ((16 / 2 ^ (k + 1) : Nat) : Int) := by rw [← hh]; omega
      rw [this] at h2; exact h2
  · rintro σ' ⟨V', hf, h⟩
    refine ⟨fun l hl hl2 => ?_, hx V' σ' (fun t ht => ?_) h⟩
    · have := hc 0 V' (32 * w + l) (σ'.reg l) (by omega) (by omega) hl2 (h.lane l hl hl2)
      exact ⟨this.1, fun hv' => by have := this.2.mp hv'; omega⟩
    · have h2 := hf (t % 32) (by omega)
      rw [show 32 * w + t % 32 = t by omega] at h2
      rw [h2, foldZ_eq]
      refine fold_congr fun q _ => ?_
      congr 1
      have e1 : t % 32 % (32 / 2 ^ 5) + 32 / 2 ^ 5 * q = q := by
        rw [show 32 / 2 ^ 5 = 1 by decide]; omega
      rw [e1]; omega

/-- One xor shuffle of all lanes: register `s` holds `emb (V t)` in thread `t`; afterwards register `d` holds
what the lane at distance `m` had. -/
theorem lanes_shfl {d s m : Nat} {arg : IExpr} (emb : α → Ext R) (hfull : 32 * w + 32 ≤ L.block.count) {V : Int → α}
    (hsrc : ∀ l, l < 32 → ShflKind.xor.source 32 l (m : Int) = some (l ^^^ m) ∧ l ^^^ m < 32)
    (h : Lanes L own w M A σ)
    (ha : ∀ (t : Nat) r, t < L.block.count → A t ⟨r, M⟩ →
      arg.ok (L.env b t) r ∧ arg.val (L.env b t) r = m ∧ r.rv s = emb (V t))
    (hd : ∀ (t : Nat) r, t < L.block.count → A t ⟨r, M⟩ → B t ⟨r.setR d (emb (V (flipped w m t))), M⟩) :
    warpWp (warpOf L gown b own w) (.shfl .xor d s arg 32) (Lanes L own w M B) σ := by
  have hv : ∀ l, l < 32 → 32 * w + l < L.block.count := fun l hl => by omega
  refine warp_shfl (fun l => l ^^^ m) (fun l hl => hv l hl) (fun l hl => ?_) ⟨h.mem, h.owns, fun l hl hl2 => ?_⟩
  · have h2 := ha (32 * w + l) (σ.reg l) (hv l hl) (h.lane l hl (hv l hl))
    refine ⟨h2.1, ?_, (hsrc l hl).2⟩
    show ShflKind.xor.source 32 l (arg.val (L.env b (32 * w + l : Nat)) (σ.reg l)) = _
    rw [h2.2.1]; exact (hsrc l hl).1
  · have h3 := hd (32 * w + l) (σ.reg l) hl2 (h.lane l hl hl2)
    have h4 := (ha (32 * w + (l ^^^ m)) (σ.reg (l ^^^ m)) (hv _ (hsrc l hl).2)
      (h.lane _ (hsrc l hl).2 (hv _ (hsrc l hl).2))).2.2
    show B (32 * w + l) ⟨(σ.reg l).setR d ((σ.reg (l ^^^ m)).rv s), M⟩
    rw [h4, ← flipped_lane hl]; exact h3

/-- A loop of xor shuffles with strides 16, 8, 4, 2, 1: every lane ends with the fold of the warp. `A w V`
says that the stride is `w` and register `s` holds `V`; `C w V U` that register `d` has received `U`. -/
theorem lanes_xor {c : BExpr} {d s : Nat} {arg : IExpr} {rest : Stmt} {Q : WSt R → Prop} (emb : α → Ext R)
    (hfull : 32 * w + 32 ≤ L.block.count)
    (A : Int → (Int → α) → Nat → St R → Prop) (C : Int → (Int → α) → (Int → α) → Nat → St R → Prop) {V : Int → α}
    (h0 : Lanes L own w M (A 16 V) σ)
    (hc : ∀ k V (t : Nat) r, 0 ≤ k → k ≤ 16 → t < L.block.count → A k V t ⟨r, M⟩ →
      c.ok (L.env b t) r ∧ (c.val (L.env b t) r ↔ 1 ≤ k))
    (ha : ∀ k V (t : Nat) r, 1 ≤ k → k ≤ 16 → t < L.block.count → A k V t ⟨r, M⟩ →
      arg.ok (L.env b t) r ∧ arg.val (L.env b t) r = k ∧ r.rv s = emb (V t))
    (hd : ∀ k V U (t : Nat) r, 1 ≤ k → k ≤ 16 → t < L.block.count → A k V t ⟨r, M⟩ → C k V U t ⟨r.setR d (emb (U t)), M⟩)
    (hp : storeless rest)
    (hs : ∀ k V U, 1 ≤ k → k ≤ 16 → Runs L gown b own (C k V U) rest (A (k / 2) fun t => op (V t) (U t)))
    (hx : ∀ V' σ', (∀ t : Nat, t / 32 = w → V' t = foldZ op e (fun l => V ((t : Int) / 32 * 32 + l)) 32) →
      Lanes L own w M (A 0 V') σ' → Q σ') :
    warpWp (warpOf L gown b own w) (.while c (.seq (.shfl .xor d s arg 32) rest)) Q σ := by
  refine lanes_rounds (op := op) (e := e) hfull A h0 hc (fun m V σ' h1 h2 hsrc h => ?_) hx
  exact warp_seq (warpWp_mono (fun σ2 h3 => lanes_run hp h3 (hs m V (fun t => V (flipped w m t)) (by omega) (by omega)))
    (lanes_shfl emb hfull hsrc h (fun t r ht => ha m V t r (by omega) (by omega) ht)
      (fun t r ht => hd m V _ t r (by omega) (by omega) ht)))

end reduction

end KShell.Auto
