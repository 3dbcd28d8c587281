module

public import KShell.Rules.Block

/-!
# Phase rules with thread owners

For block code without shuffles and `__syncwarp`: between two barriers every cell belongs to one thread of
the block or is not written. One obligation about one symbolic thread `t`, with a relational post `Φ t`.
-/

@[expose] public section
noncomputable section
namespace KShell
open scoped Classical
set_option linter.unusedSectionVars false

variable {R : Type} [ExactReal R]

/-- What thread `t` of block `b` may do in a phase with thread owners `own`. -/
def threadPerm (L : Launch) (gown : Nat → Int → Option Nat) (b : Nat) (own : Nat → Int → Option Nat) (t : Nat) :
    Perm R :=
  ⟨fun a i => blockVis L gown b a i ∧ (own a i = none ∨ own a i = some t),
    fun a i _ => blockWr L gown b a i ∧ own a i = some t⟩

/-- The state after a phase: each thread ended in its post, each cell is as its owner left it. -/
def AfterPhase (L : Launch) (own : Nat → Int → Option Nat) (Φ : Nat → St R → Prop) (β β' : BSt R) : Prop :=
  (∀ t, t < L.block.count → ∃ σ, Φ t σ ∧ β'.thread t = σ.reg ∧ ∀ a i, own a i = some t → β'.mem a i = σ.mem a i) ∧
  ∀ a i, (∀ t, t < L.block.count → own a i ≠ some t) → β'.mem a i = β.mem a i

variable {L : Launch} {gown : Nat → Int → Option Nat} {b : Nat} {β : BSt R}

theorem phase_threads_core {p : Stmt} (own : Nat → Int → Option Nat) (Φ : Nat → St R → Prop)
    (h1 : ∀ t : Nat, t < L.block.count → p.wp (L.env b t) (threadPerm L gown b own t) (Φ t) ⟨β.thread t, β.mem⟩) :
    ∃ wown Ψ, PhaseWarps L gown b wown p Ψ β ∧ ∀ β', Merged L wown Ψ β β' → AfterPhase L own Φ β β' := by
  let wown : Nat → Int → Option Nat := fun a i =>
    match own a i with
    | some t => if t < L.block.count then some (t / 32) else none
    | none => none
  let lown : Nat → Int → Own (Ext R) := fun a i =>
    match own a i with
    | some t => if t < L.block.count then .lane (t % 32) else .free
    | none => .free
  have hw : ∀ a i t, own a i = some t → t < L.block.count → wown a i = some (t / 32) := by
    intro a i t h ht; simp only [wown, h, if_pos ht]
  have hl : ∀ a i t, own a i = some t → t < L.block.count → lown a i = .lane (t % 32) := by
    intro a i t h ht; simp only [lown, h, if_pos ht]
  refine ⟨wown, fun w σ => ∀ l, l < 32 → 32 * w + l < L.block.count → ∃ σ', Φ (32 * w + l) σ' ∧ σ.reg l = σ'.reg ∧
    ∀ a i, own a i = some (32 * w + l) → σ.mem a i = σ'.mem a i, fun w _ => ⟨lown, ?_⟩, fun β' ⟨H1, H2⟩ => ⟨?_, ?_⟩⟩
  · refine warp_run (fun l σ => Φ (32 * w + l) σ) (fun l hl32 hlive => ?_) (fun σ hown H1 _ _ _ => ⟨fun l hl32 hlive => ?_, ?_⟩)
    · have := h1 (32 * w + l) hlive
      rw [β.thread_eq hl32] at this
      refine Stmt.wp_perm _ _ _ _ _ _ ?_ ?_ this
      · rintro a i ⟨g1, g2 | g2⟩
        · exact ⟨⟨g1, .inl (by simp only [wown, g2])⟩, .inl (by simp only [lown, g2])⟩
        · refine ⟨⟨g1, .inr ((hw a i _ g2 hlive).trans (congrArg some ?_))⟩, .inr ((hl a i _ g2 hlive).trans (congrArg Own.lane ?_))⟩ <;> omega
      · rintro a i x ⟨g1, g2⟩
        refine ⟨⟨g1, (hw a i _ g2 hlive).trans (congrArg some ?_)⟩, .inl ((hl a i _ g2 hlive).trans (congrArg Own.lane ?_))⟩ <;> omega
    · obtain ⟨σ', h3, h4, h5⟩ := H1 l hl32 hlive
      refine ⟨σ', h3, h4, fun a i ho => h5 a i ?_⟩
      refine (hl a i _ ho hlive).trans (congrArg Own.lane ?_); omega
    · intro a i v hs
      rw [hown] at hs
      cases ho : own a i with
      | none => simp only [lown, ho] at hs; cases hs
      | some t => simp only [lown, ho] at hs; split at hs <;> cases hs
  · intro t ht
    obtain ⟨σ, h3, h4, h5⟩ := H1 (t / 32) (by simp only [Launch.warps]; omega)
    have et : 32 * (t / 32) + t % 32 = t := by omega
    obtain ⟨σ', h6, h7, h8⟩ := h3 (t % 32) (by omega) (by omega)
    rw [et] at h6 h8
    refine ⟨σ', h6, (h4 (t % 32) (by omega)).trans h7, fun a i ho => ?_⟩
    rw [h5 a i (hw a i t ho ht), h8 a i ho]
  · intro a i ho
    refine H2 a i fun w _ he => ?_
    cases ho' : own a i with
    | none => simp only [wown, ho'] at he; cases he
    | some t =>
      simp only [wown, ho'] at he; split at he
      · next ht => exact ho t ht ho'
      · cases he

/-- The phase rule with thread owners: thread code up to a `__syncthreads`. -/
theorem block_phase_threads (hb : b < L.grid.count) (hn : 0 < L.block.count) {p : Stmt} {Q : BSt R → Prop}
    (own : Nat → Int → Option Nat) (Φ : Nat → St R → Prop)
    (h1 : ∀ t : Nat, t < L.block.count → p.wp (L.env b t) (threadPerm L gown b own t) (Φ t) ⟨β.thread t, β.mem⟩)
    (h2 : ∀ β', AfterPhase L own Φ β β' → Q β') : blockWp L gown b (.seq p .barrier) Q β := by
  obtain ⟨wown, Ψ, h3, h4⟩ := phase_threads_core own Φ h1
  exact block_phase hb hn wown Ψ h3 fun β' h => h2 β' (h4 β' h)

/-- The last phase with thread owners: thread code up to the end of the kernel. -/
theorem kernel_phase_threads (hb : b < L.grid.count) {p : Stmt} {Q : Mem R → Prop}
    (own : Nat → Int → Option Nat) (Φ : Nat → St R → Prop)
    (h1 : ∀ t : Nat, t < L.block.count → p.wp (L.env b t) (threadPerm L gown b own t) (Φ t) ⟨β.thread t, β.mem⟩)
    (h2 : ∀ β', AfterPhase L own Φ β β' → Q β'.mem) : kernelWp L gown b p Q β := by
  obtain ⟨wown, Ψ, h3, h4⟩ := phase_threads_core own Φ h1
  exact kernel_phase hb wown Ψ h3 fun β' h => h2 β' (h4 β' h)

end KShell
