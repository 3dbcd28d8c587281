module

public import KShell.Rules.Warp

/-!
# The rule for thread code in a warp

One symbolic lane with a relational post. The lanes are not synchronised afterwards: what one lane wrote
is known to the merged state, but under the same owners, so no other lane can read it before the next
synchronisation.
-/

@[expose] public section
noncomputable section
namespace KShell
open scoped Classical
set_option linter.unusedSectionVars false

variable {C V : Type} {S : Scope C}

/-- `m` and `m'` agree on what lane `t` can tell, up to cells of one value in `D`. -/
def RelUpTo (D : C → Prop) (own : C → Own V) (t : Nat) (m m' : Heap C V) : Prop :=
  ∀ c, S.vis c → (own c = .free ∨ own c = .lane t → m c = m' c) ∧
    (∀ v, own c = .same v → m c = some v → m' c = some v ∨ D c)

theorem laneWp_frame_upTo {D : C → Prop} {own : C → Own V} {t : Nat} {Q : Tree C V → Heap C V → Prop}
    (p : Tree C V) : ∀ {m m' : Heap C V}, RelUpTo (S := S) D own t m m' → laneWp S own t p Q m →
      laneWp S own t p (fun r m' => ∃ m, Q r m ∧ RelUpTo (S := S) D own t m m') m' := by
  induction p with
  | ret | bar | shfl | sync => intro m m' h hq; exact ⟨m, hq, h⟩
  | fault => intro m m' h h'; exact h'
  | load c k ih =>
    intro m m' h ⟨h0, h1, v, h2, h3⟩
    exact ⟨h0, h1, v, by rw [← (h c h0).1 h1]; exact h2, ih v h h3⟩
  | store c v k ih =>
    intro m m' h ⟨h0, h1, h2⟩
    refine ⟨h0, h1, ih ?_ h2⟩
    intro d hd; simp only [Heap.set]
    refine ⟨fun h' => ?_, fun v' h' => ?_⟩ <;> split
    · rfl
    · exact (h d hd).1 h'
    · exact .inl
    · exact (h d hd).2 v' h'

/-- Monotone in the post. -/
theorem laneWp_mono {own : C → Own V} {t : Nat} {Q Q' : Tree C V → Heap C V → Prop}
    (h : ∀ r m, Q r m → Q' r m) (p : Tree C V) :
    ∀ m : Heap C V, laneWp S own t p Q m → laneWp S own t p Q' m := by
  induction p with
  | ret | bar | shfl | sync => intro m hq; exact h _ _ hq
  | fault => intro m h'; exact h'
  | load c k ih => intro m ⟨h0, h1, v, h2, h3⟩; exact ⟨h0, h1, v, h2, ih v m h3⟩
  | store c v k ih => intro m ⟨h0, h1, h2⟩; exact ⟨h0, h1, ih _ h2⟩

/-- A cell that only takes the value `v` keeps it. -/
theorem laneWp_keep {own : C → Own V} {t : Nat} {Q : Tree C V → Heap C V → Prop} (p : Tree C V) :
    ∀ m : Heap C V, laneWp S own t p Q m →
      laneWp S own t p (fun r m' => Q r m' ∧ ∀ c v, own c = .same v → m c = some v → m' c = some v) m := by
  induction p with
  | ret | bar | shfl | sync => intro m hq; exact ⟨hq, fun _ _ _ h => h⟩
  | fault => intro m h'; exact h'
  | load c k ih => intro m ⟨h0, h1, v, h2, h3⟩; exact ⟨h0, h1, v, h2, ih v m h3⟩
  | store c v k ih =>
    intro m ⟨h0, h1, h2⟩
    refine ⟨h0, h1, laneWp_mono (fun r m' ⟨g1, g2⟩ => ⟨g1, fun d v' ho hm => g2 d v' ho ?_⟩) k _ (ih _ h2)⟩
    simp only [Heap.set]; split
    · next e => subst e; rcases h1 with h1 | h1 <;> rw [ho] at h1 <;> cases h1; rfl
    · exact hm

variable {R : Type} [ExactReal R]

theorem exists_bound (N : Nat) (A : Nat → Nat → Prop) (h : ∀ t, t < N → ∃ f, ∀ g, f ≤ g → A t g) :
    ∃ f, ∀ t, t < N → ∀ g, f ≤ g → A t g := by
  induction N with
  | zero => exact ⟨0, fun t ht => by omega⟩
  | succ N ih =>
    obtain ⟨f1, h1⟩ := ih (fun t ht => h t (by omega))
    obtain ⟨f2, h2⟩ := h N (by omega)
    refine ⟨max f1 f2, fun t ht g hg => ?_⟩
    by_cases ht' : t = N
    · subst ht'; exact h2 g (by omega)
    · exact h1 t (by omega) g (by omega)

/-- Thread code: every lane runs it to its own post; the merged state takes from each lane what it owns. -/
theorem warp_run {W : WarpCtx} {p : Stmt} {Q : WSt R → Prop} {β : WSt R} (Φ : Nat → St R → Prop)
    (h1 : ∀ l, l < 32 → W.live l → p.wp (W.env l) (W.perm β.own l) (Φ l) ⟨β.reg l, β.mem⟩)
    (h2 : ∀ β' : WSt R, β'.own = β.own →
      (∀ l, l < 32 → W.live l → ∃ σ, Φ l σ ∧ β'.reg l = σ.reg ∧
        ∀ a i, β.own a i = .lane l → β'.mem a i = σ.mem a i) →
      (∀ a i v l, β.own a i = .same v → l < 32 → W.live l → (∀ σ, Φ l σ → σ.mem a i = some v) →
        β'.mem a i = some v) →
      (∀ a i v, β.own a i = .same v → (∀ l, l < 32 → W.live l → ∀ σ, Φ l σ → σ.mem a i = β.mem a i) →
        β'.mem a i = β.mem a i) →
      (∀ a i, (β.own a i = .free ∨ ∃ l, β.own a i = .lane l ∧ ¬ (l < 32 ∧ W.live l)) →
        β'.mem a i = β.mem a i) → Q β') : warpWp W p Q β := by
  let own := ofElem β.own
  have hex : ∀ l : Nat, ∃ σ : St R, l < 32 ∧ W.live l →
      (Φ l σ ∧ ∀ a i, (β.own a i = .free ∨ ∃ u, β.own a i = .lane u ∧ u ≠ l) → σ.mem a i = β.mem a i) ∧
      ∃ f0, ∀ fuel, f0 ≤ fuel → ∀ (site : Nat) (S : Scope Cell), W.Fits S →
        ∀ (K : Reg R → Tree Cell (Ext R)) Q' m, AgreeL W.cell S.vis own l m β.mem →
        (∀ m', AgreeL W.cell S.vis own l m' σ.mem → laneWp S own l (K σ.reg) Q' m') →
        laneWp S own l (p.tree (W.place l) fuel site K (β.reg l)) Q' m := by
    intro l
    by_cases hl : l < 32 ∧ W.live l
    · have hw := Stmt.wp_inv (W.env l) (P := W.perm β.own l)
        (J := fun M => ∀ a i, (β.own a i = .free ∨ ∃ u, β.own a i = .lane u ∧ u ≠ l) → M a i = β.mem a i)
        (by
          intro m a i x hJ ⟨_, hx⟩ a' i' ho
          simp only [Mem.set]; split
          · next e => obtain ⟨rfl, rfl⟩ := e; grind
          · exact hJ a' i' ho) p ⟨β.reg l, β.mem⟩ (fun _ _ _ => rfl) (h1 l hl.1 hl.2)
      obtain ⟨σ, h3, f, h4⟩ := Stmt.sound (W.place l) l (W.perm β.own l) p _ _ hw
      exact ⟨σ, fun _ => ⟨h3, f, fun fuel hf site S hS K Q' m hm hk =>
        h4 fuel hf site S own (fun a i h => ⟨hS.1 a i h.1, h.2⟩) (fun a i x h => ⟨hS.2.1 a i h.1, h.2⟩) K Q' m hm hk⟩⟩
    · exact ⟨⟨β.reg l, β.mem⟩, fun h => absurd h hl⟩
  obtain ⟨σ, hσ⟩ := Classical.axiomOfChoice hex
  obtain ⟨f0, hf⟩ := exists_bound 32 (fun l fuel => W.live l → ∀ (site : Nat) (S : Scope Cell), W.Fits S →
        ∀ (K : Reg R → Tree Cell (Ext R)) Q' m, AgreeL W.cell S.vis own l m β.mem →
        (∀ m', AgreeL W.cell S.vis own l m' (σ l).mem → laneWp S own l (K (σ l).reg) Q' m') →
        laneWp S own l (p.tree (W.place l) fuel site K (β.reg l)) Q' m) (fun l hl => by
      by_cases hv : W.live l
      · obtain ⟨f, h⟩ := (hσ l ⟨hl, hv⟩).2
        exact ⟨f, fun g hg _ => h g hg⟩
      · exact ⟨0, fun _ _ h => absurd h hv⟩)
  let M' : Mem R := fun a i =>
    match β.own a i with
    | .free => β.mem a i
    | .lane l => if l < 32 ∧ W.live l then (σ l).mem a i else β.mem a i
    | .same v => if ∃ l, l < 32 ∧ W.live l ∧ (σ l).mem a i = some v then some v else β.mem a i
  have hMfree : ∀ a i, β.own a i = .free → M' a i = β.mem a i := by
    intro a i ho; simp only [M', ho]
  have hMlive : ∀ a i l, β.own a i = .lane l → l < 32 → W.live l → M' a i = (σ l).mem a i := by
    intro a i l ho hl hv; simp only [M', ho]; exact if_pos ⟨hl, hv⟩
  have hMdead : ∀ a i l, β.own a i = .lane l → ¬ (l < 32 ∧ W.live l) → M' a i = β.mem a i := by
    intro a i l ho hl; simp only [M', ho]; exact if_neg hl
  have hMsame : ∀ a i v, β.own a i = .same v →
      M' a i = if ∃ l, l < 32 ∧ W.live l ∧ (σ l).mem a i = some v then some v else β.mem a i := by
    intro a i v ho; simp only [M', ho]
  clear_value M'
  refine ⟨⟨fun l => (σ l).reg, M', β.own⟩, h2 _ rfl ?_ ?_ ?_ ?_, f0, fun fuel hfu site S hS K N hK m hm => ?_⟩
  · intro l hl hv
    exact ⟨σ l, (hσ l ⟨hl, hv⟩).1.1, rfl, fun a i ho => hMlive a i l ho hl hv⟩
  · intro a i v l ho hl hv hΦ
    show M' a i = _
    rw [hMsame a i v ho, if_pos ⟨l, hl, hv, hΦ _ (hσ l ⟨hl, hv⟩).1.1⟩]
  · intro a i v ho hΦ
    show M' a i = _
    rw [hMsame a i v ho]; split
    · next h =>
      obtain ⟨l, hl, hv, e⟩ := h
      rw [← e]; exact hΦ l hl hv _ (hσ l ⟨hl, hv⟩).1.1
    · rfl
  · rintro a i (ho | ⟨l, ho, hn⟩)
    · exact hMfree a i ho
    · exact hMdead a i l ho hn
  · let mm : Heap Cell (Ext R) := fun c => if c = W.cell c.2.1 c.2.2 then M' c.2.1 c.2.2 else m c
    have hmm : ∀ a i, mm (W.cell a i) = M' a i := fun a i => if_pos rfl
    clear_value mm
    have hof : ∀ a i, own (W.cell a i) = β.own a i := fun _ _ => rfl
    obtain ⟨Φ2, g1, g2⟩ := (hK mm (fun a i _ => ⟨fun _ => hmm a i, fun v _ e => (hmm a i).trans e⟩)).unfold
    let D : Cell → Prop := fun c => ∃ v, own c = .same v ∧ mm c = some v
    refine .fold ⟨fun t r mt2 => ((∃ mt, Φ2 t r mt ∧ RelUpTo (S := S) D own t mt mt2) ∧
        (W.live t → ∀ a i v, own (W.cell a i) = .same v → S.vis (W.cell a i) → (σ t).mem a i = some v →
          mt2 (W.cell a i) = some v)) ∧
        (∀ c v, own c = .same v → m c = some v → mt2 c = some v), fun t ht => ?_, fun th' m' H1 H2 => g2 th' m' ?_ ?_⟩
    · have k1 := g1 t ht
      by_cases hv : W.live t
      · simp only [WarpCtx.lanes, if_pos hv] at k1 ⊢
        refine laneWp_keep _ _ (hf t ht fuel hfu hv site S hS (K t) _ m (fun a i hvis => ⟨fun ho => (hm a i hvis).1
          (fun v h => by rw [hof, h] at ho; rcases ho with ho | ho <;> cases ho), (hm a i hvis).2⟩) (fun m2 ha => ?_))
        have rel : RelUpTo (S := S) D own t mm m2 := by
          intro c hc
          obtain ⟨a, i, rfl⟩ := hS.2.2 c hc
          refine ⟨fun ho => ?_, fun v ho e => .inr ⟨v, ho, e⟩⟩
          rw [hmm, (ha a i hc).1 ho]
          rcases ho with ho | ho
          · rw [hMfree a i ho, (hσ t ⟨ht, hv⟩).1.2 a i (.inl ho)]
          · exact hMlive a i t ho ht hv
        refine laneWp_mono (fun r mt ⟨q1, q2⟩ => ⟨q1, fun _ a i v ho hvis e => ?_⟩) _ _
          (laneWp_keep _ _ (laneWp_frame_upTo _ rel k1))
        exact q2 _ v ho ((ha a i hvis).2 v ho e)
      · simp only [WarpCtx.lanes, if_neg hv] at k1 ⊢
        refine ⟨⟨⟨mm, k1, fun c hc => ?_⟩, fun h => absurd h hv⟩, fun _ _ _ h => h⟩
        obtain ⟨a, i, rfl⟩ := hS.2.2 c hc
        refine ⟨fun ho => ?_, fun v ho e => .inr ⟨v, ho, e⟩⟩
        rw [hmm, (hm a i hc).1 (fun v h => by rw [hof, h] at ho; rcases ho with ho | ho <;> cases ho)]
        rcases ho with ho | ho
        · exact hMfree a i ho
        · exact hMdead a i t ho (fun h => hv h.2)
    · intro t ht
      obtain ⟨mt2, ⟨⟨⟨mt, p1, p2⟩, _⟩, p4⟩, hres⟩ := H1 t ht
      refine ⟨mt, p1, fun c hc => ⟨fun ho => ((p2 c hc).1 (.inr ho)).trans ((hres c hc).1 ho), fun v ho e => ?_⟩⟩
      rcases (p2 c hc).2 v ho e with e2 | ⟨v', ho', e2⟩
      · exact (hres c hc).2 v ho e2
      · have ho : own c = .same v := ho
        rw [ho] at ho'; cases ho'
        obtain ⟨a, i, rfl⟩ := hS.2.2 c hc
        rw [hmm, hMsame a i v ho] at e2
        split at e2
        · next h =>
          obtain ⟨l, hl, hv, hl2⟩ := h
          obtain ⟨mtl, ⟨⟨_, q3⟩, _⟩, hresl⟩ := H1 l hl
          exact (hresl _ hc).2 v ho (q3 hv a i v ho hc hl2)
        · exact (hres _ hc).2 v ho (p4 _ v ho ((hm a i hc).2 v ho e2))
    · intro c hc hi
      obtain ⟨a, i, rfl⟩ := hS.2.2 c hc
      rw [H2 _ hc hi, hmm]
      rcases hi with ho | ⟨t, ho, ht⟩
      · have ho : β.own a i = .free := ho
        rw [(hm a i hc).1 (fun v h => by rw [h] at ho; cases ho), hMfree a i ho]
      · have ho : β.own a i = .lane t := ho
        rw [(hm a i hc).1 (fun v h => by rw [h] at ho; cases ho), hMdead a i t ho (fun h => by omega)]

/-- Thread code that writes no shared or global memory. -/
theorem warp_run_pure {W : WarpCtx} {p : Stmt} {Q : WSt R → Prop} {β : WSt R} (Φ : Nat → Reg R → Prop)
    (h1 : ∀ l, l < 32 → W.live l →
      p.wp (W.env l) (W.perm β.own l) (fun σ => σ.mem = β.mem ∧ Φ l σ.reg) ⟨β.reg l, β.mem⟩)
    (h2 : ∀ β' : WSt R, β'.own = β.own → β'.mem = β.mem → (∀ l, l < 32 → W.live l → Φ l (β'.reg l)) → Q β') :
    warpWp W p Q β := by
  refine warp_run (fun l σ => σ.mem = β.mem ∧ Φ l σ.reg) h1 fun β' ho H1 _ H3 H4 => h2 β' ho ?_ fun l hl hv => ?_
  · funext a i
    cases e : β.own a i with
    | free => exact H4 a i (.inl e)
    | lane l =>
      by_cases hl : l < 32 ∧ W.live l
      · obtain ⟨σ, h, _, h3⟩ := H1 l hl.1 hl.2
        rw [h3 a i e, h.1]
      · exact H4 a i (.inr ⟨l, e, hl⟩)
    | same v => exact H3 a i v e fun l _ _ σ h => by rw [h.1]
  · obtain ⟨σ, h, e, _⟩ := H1 l hl hv
    rw [e]; exact h.2

end KShell
