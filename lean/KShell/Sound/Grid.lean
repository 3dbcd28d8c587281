module

public import KShell.Sound.Block

/-!
# Every interleaving of a grid

`grid_sound`: when every block keeps the discipline, every reachable state of every interleaving is free
of faults and races, can move on unless it has finished, and ends in the posts of all blocks with all
other cells unchanged.
-/

@[expose] public section
noncomputable section
namespace KShell
open scoped Classical

variable {C V : Type} {gown : C → Option Nat} {nb nw : Nat} {Post : Nat → Heap C V → Prop}

/-- The invariant of every interleaving. -/
def Inv (gown : C → Option Nat) (nb nw : Nat) (Post : Nat → Heap C V → Prop) (s : Config C V) : Prop :=
  ∃ wown own, LogOk gown wown own s.log ∧
    ∀ b, b < nb → BlockSafe nw (bscope gown b) (Post b) (wown b) (own b) (s.thread b) s.mem

/-- What a load may rely on. -/
theorem BlockSafe.next {b : Nat} {P wown own} {th : Nat → Nat → Tree C V} {m : Heap C V}
    (g : BlockSafe nw (bscope gown b) P wown own th m) {w l : Nat} (hw : w < nw) (hl : l < 32) :
    ∃ Q, laneWp (wscope (bscope gown b) wown w) (own w) l (th w l) Q m := by
  obtain ⟨Ψ, h1, _⟩ := g.unfold
  exact (h1 w hw).next hl

theorem inv_one {s : Config C V} {wown : Nat → C → Option Nat} {own : Nat → Nat → C → Own V}
    (h : ∀ b, b < nb → BlockSafe nw (bscope gown b) (Post b) (wown b) (own b) (s.thread b) s.mem)
    {b : Nat} {th : Nat → Nat → Tree C V} {m : Heap C V} {wo o}
    (H : BlockSafe nw (bscope gown b) (Post b) wo o th m)
    (H2 : ∀ c, m c = s.mem c ∨ gown c = some b) :
    ∀ b', b' < nb → BlockSafe nw (bscope gown b') (Post b') (upd wown b wo b') (upd own b o b')
      (upd s.thread b th b') m := by
  intro b' hb'
  by_cases e : b' = b
  · subst e; simp only [upd_eq]; exact H
  · simp only [upd_ne _ _ e]
    refine .fold ((h b' hb').unfold.frame (fun c hc => ?_))
    rcases H2 c with h3 | h3
    · exact h3.symm
    · simp only [bscope] at hc; grind

theorem upd_self {α : Type} (f : Nat → α) (i : Nat) : upd f i (f i) = f := by
  funext j; simp only [upd]; split
  · next h => rw [h]
  · rfl

theorem inv_step {s s' : Config C V} (h : Inv gown nb nw Post s) (st : Step nb nw s s') :
    Inv gown nb nw Post s' ∧ ∀ c, s'.mem c = s.mem c ∨ ∃ b, b < nb ∧ gown c = some b := by
  obtain ⟨wown, own, hlog, h⟩ := h
  cases st with
  | load b w l c k v hb hw hl e hv =>
    obtain ⟨Q, hn⟩ := (h b hb).next hw hl
    rw [e] at hn; obtain ⟨⟨a1, a2⟩, a3, _⟩ := hn
    obtain ⟨o, ho, g⟩ := (h b hb).unfold.step (tw := upd (s.thread b w) l (k v)) (m' := s.mem) (· = own b w)
      hw (fun _ => .inl rfl) (fun Ψ g => ⟨_, rfl, g.load hl e hv⟩)
    subst ho; rw [upd_self] at g
    have hi := inv_one h (.fold g) (fun _ => .inl rfl)
    rw [upd_self, upd_self] at hi
    exact ⟨⟨wown, own, hlog.addRead a1 a2 a3, hi⟩, fun _ => .inl rfl⟩
  | store b w l c v k hb hw hl e =>
    obtain ⟨Q, hn⟩ := (h b hb).next hw hl
    rw [e] at hn; obtain ⟨⟨a1, a2⟩, a3, _⟩ := hn
    have hset : ∀ d, s.mem.set c v d = s.mem d ∨ ((bscope gown b).wr d ∧ wown b d = some w) := by
      intro d; simp only [Heap.set]; split
      · next e => subst e; exact .inr ⟨a1, a2⟩
      · exact .inl rfl
    obtain ⟨o, ho, g⟩ := (h b hb).unfold.step (tw := upd (s.thread b w) l k) (m' := s.mem.set c v)
      (· = own b w) hw hset (fun Ψ g => ⟨_, rfl, g.store hl e⟩)
    subst ho; rw [upd_self] at g
    have hi := inv_one h (.fold g) (fun d => (hset d).imp id (·.1))
    rw [upd_self, upd_self] at hi
    exact ⟨⟨wown, own, hlog.addWrite a1 a2 a3, hi⟩, fun d => (hset d).imp id fun h => ⟨b, hb, h.1⟩⟩
  | shfl b w site x k hb hw e =>
    obtain ⟨o, ho, g⟩ := (h b hb).unfold.step (tw := fun l => k l (fun i => x (i % 32))) (m' := s.mem)
      (· = own b w) hw (fun _ => .inl rfl) (fun Ψ g => ⟨_, rfl, g.shfl e⟩)
    subst ho; rw [upd_self] at g
    have hi := inv_one h (.fold g) (fun _ => .inl rfl)
    rw [upd_self, upd_self] at hi
    exact ⟨⟨wown, own, hlog, hi⟩, fun _ => .inl rfl⟩
  | sync b w site k hb hw e =>
    obtain ⟨o, _, g⟩ := (h b hb).unfold.step (tw := k) (m' := s.mem) (fun _ => True) hw (fun _ => .inl rfl)
      (fun Ψ g => by obtain ⟨o, g⟩ := g.sync e; exact ⟨o, trivial, g⟩)
    have hi := inv_one h (.fold g) (fun _ => .inl rfl)
    rw [upd_self wown] at hi
    exact ⟨⟨wown, _, hlog.syncWarp b w o, hi⟩, fun _ => .inl rfl⟩
  | bar b site k hb hk =>
    obtain ⟨wo, o, g⟩ := (h b hb).bar hk
    exact ⟨⟨_, _, hlog.syncBlock b wo o, inv_one h g (fun _ => .inl rfl)⟩, fun _ => .inl rfl⟩

theorem inv_steps {s s' : Config C V} (h : Inv gown nb nw Post s) (st : Steps nb nw s s') :
    Inv gown nb nw Post s' ∧ ∀ c, (∀ b, b < nb → gown c ≠ some b) → s'.mem c = s.mem c := by
  induction st with
  | refl => exact ⟨h, fun _ _ => rfl⟩
  | tail _ s2 ih =>
    have := inv_step ih.1 s2
    refine ⟨this.1, fun c hc => ?_⟩
    rcases this.2 c with e | ⟨b, hb, e⟩
    · rw [e, ih.2 c hc]
    · exact absurd e (hc b hb)

theorem inv_not_faulty {s : Config C V} (h : Inv gown nb nw Post s) : ¬ Faulty nb nw s := by
  obtain ⟨wown, own, _, h⟩ := h
  rintro ⟨b, w, l, hb, hw, hl, e⟩
  obtain ⟨Q, hn⟩ := (h b hb).next hw hl
  rcases e with e | ⟨c, k, e, hm⟩
  · rw [e] at hn; exact hn
  · rw [e] at hn; obtain ⟨_, _, v, hv, _⟩ := hn; rw [hv] at hm; cases hm

theorem inv_not_racing {s : Config C V} (h : Inv gown nb nw Post s) : ¬ Racing nb nw s := by
  obtain ⟨wown, own, hlog, h⟩ := h
  rintro ⟨b, w, l, hb, hw, hl, e⟩
  obtain ⟨Q, hn⟩ := (h b hb).next hw hl
  rcases e with ⟨c, k, e, hu⟩ | ⟨c, v, k, e, hu⟩
  · rw [e] at hn; obtain ⟨⟨a1, a2⟩, a3, _⟩ := hn; exact hlog.read_ordered a1 a2 a3 hu
  · rw [e] at hn; obtain ⟨⟨a1, a2⟩, a3, _⟩ := hn; exact hlog.write_ordered a1 a2 a3 hu

theorem inv_block_progress {s : Config C V} (h : Inv gown nb nw Post s) {b : Nat} (hb : b < nb) :
    (∀ w l, w < nw → l < 32 → s.thread b w l = .ret) ∨ ∃ t, Step nb nw s t := by
  have hf := inv_not_faulty h
  obtain ⟨wown, own, _, h⟩ := h
  by_cases hall : ∀ w l, w < nw → l < 32 → (s.thread b w l).stands
  · obtain ⟨Ψ, h1, h2⟩ := (h b hb).unfold
    have hn := fun w hw => (h1 w hw).ends (fun t ht => hall w t hw ht)
    by_cases hc : ∃ w, w < nw ∧ ((∃ s' x k, AtShfl (s.thread b w) s' x k) ∨ ∃ s' k, AtSync (s.thread b w) s' k)
    · obtain ⟨w, hw, ⟨s', x, k, h3⟩ | ⟨s', k, h3⟩⟩ := hc
      · exact .inr ⟨_, .shfl s b w s' x k hb hw h3⟩
      · exact .inr ⟨_, .sync s b w s' k hb hw h3⟩
    · have hN := h2 _ s.mem (fun w hw => ⟨s.mem, (by
        rcases hn w hw with ⟨_, h3⟩ | ⟨s', x, k, h3, _⟩ | ⟨s', k, h3, _⟩
        · exact h3
        · exact absurd ⟨w, hw, .inl ⟨s', x, k, h3⟩⟩ hc
        · exact absurd ⟨w, hw, .inr ⟨s', k, h3⟩⟩ hc), fun _ _ _ => rfl⟩) (fun _ _ _ => rfl)
      rcases hN with ⟨h3, _⟩ | ⟨s', k, h3, _⟩
      · exact .inl h3
      · exact .inr ⟨_, .bar s b s' k hb h3⟩
  · right
    have ⟨w, hx⟩ := Classical.not_forall.1 hall
    have ⟨l, hx⟩ := Classical.not_forall.1 hx
    have ⟨hw, hx⟩ := Classical.not_imp.1 hx
    have ⟨hl, hx⟩ := Classical.not_imp.1 hx
    cases e : s.thread b w l with
    | ret => rw [e] at hx; simp [Tree.stands] at hx
    | bar s' k => rw [e] at hx; simp [Tree.stands] at hx
    | shfl s' x k => rw [e] at hx; simp [Tree.stands] at hx
    | sync s' k => rw [e] at hx; simp [Tree.stands] at hx
    | fault => exact absurd ⟨b, w, l, hb, hw, hl, .inl e⟩ hf
    | load c k =>
      cases hm : s.mem c with
      | none => exact absurd ⟨b, w, l, hb, hw, hl, .inr ⟨c, k, e, hm⟩⟩ hf
      | some v => exact ⟨_, .load s b w l c k v hb hw hl e hm⟩
    | store c v k => exact ⟨_, .store s b w l c v k hb hw hl e⟩

theorem inv_post {s : Config C V} (h : Inv gown nb nw Post s) (hd : Finished nb nw s) :
    ∀ b, b < nb → Post b s.mem := by
  intro b hb
  obtain ⟨wown, own, _, h⟩ := h
  obtain ⟨Ψ, h1, h2⟩ := (h b hb).unfold
  have hN := h2 _ s.mem (fun w hw => ⟨s.mem, (by
    rcases (h1 w hw).ends (fun t ht => by rw [hd b w t hb hw ht]; trivial) with
      ⟨_, h3⟩ | ⟨s', x, k, h3, _⟩ | ⟨s', k, ⟨_, l, hl, h3⟩, _⟩
    · exact h3
    · have := h3 0 (by omega); rw [hd b w 0 hb hw (by omega)] at this; cases this
    · rw [hd b w l hb hw hl] at h3; cases h3), fun _ _ _ => rfl⟩) (fun _ _ _ => rfl)
  rcases hN with ⟨_, h3⟩ | ⟨s', k, h3, _⟩
  · exact h3
  · obtain ⟨_, w, l, hw, hl, h3⟩ := h3
    rw [hd b w l hb hw hl] at h3; cases h3

/-- The metatheorem: blocks that keep the discipline are correct under every interleaving. -/
theorem grid_sound {s s' : Config C V} (h : Inv gown nb nw Post s) (st : Steps nb nw s s') :
    ¬ Faulty nb nw s' ∧ ¬ Racing nb nw s' ∧ (Finished nb nw s' ∨ ∃ t, Step nb nw s' t) ∧
    (Finished nb nw s' → ∀ b, b < nb → Post b s'.mem) ∧
    (∀ c, (∀ b, b < nb → gown c ≠ some b) → s'.mem c = s.mem c) := by
  obtain ⟨hi, hu⟩ := inv_steps h st
  refine ⟨inv_not_faulty hi, inv_not_racing hi, ?_, inv_post hi, hu⟩
  by_cases hst : ∃ t, Step nb nw s' t
  · exact .inr hst
  · left; intro b w l hb hw hl
    rcases inv_block_progress hi hb with h | h
    · exact h w l hw hl
    · exact absurd h hst

end KShell
