module

public import KShell.Sound.Lane

/-!
# Ownership inside a block and a grid

The same one and two levels up: between two barriers of a block a cell belongs to one warp or is not
written; during a launch a global cell belongs to one block or is not written. `Inv` is the invariant of
every interleaving.
-/

@[expose] public section
noncomputable section
namespace KShell
open scoped Classical

variable {C V : Type}

/-- What warp `w` may see and write when the block may see and write `B`. -/
def wscope (B : Scope C) (wown : C → Option Nat) (w : Nat) : Scope C :=
  ⟨fun c => B.vis c ∧ (wown c = none ∨ wown c = some w), fun c => B.wr c ∧ wown c = some w⟩

/-- What block `b` may see and write. -/
def bscope (gown : C → Option Nat) (b : Nat) : Scope C :=
  ⟨fun c => gown c = none ∨ gown c = some b, fun c => gown c = some b⟩

variable (nw : Nat) (B : Scope C)

/-- The warps of a block up to the next barrier or exit, then `N`. -/
def BSeg (wown : C → Option Nat) (own : Nat → C → Own V) (th : Nat → Nat → Tree C V) (m : Heap C V)
    (N : (Nat → Nat → Tree C V) → Heap C V → Prop) : Prop :=
  ∃ Ψ : Nat → (Nat → Tree C V) → Heap C V → Prop,
    (∀ w, w < nw → WarpSafe (wscope B wown w) (own w) (Ψ w) (th w) m) ∧
    ∀ (th' : Nat → Nat → Tree C V) (m' : Heap C V),
      (∀ w, w < nw → ∃ mt, Ψ w (th' w) mt ∧ ∀ c, B.vis c → wown c = some w → m' c = mt c) →
      (∀ c, B.vis c → (∀ w, w < nw → wown c ≠ some w) → m' c = m c) → N th' m'

/-- What may happen when all warps stand at a barrier or have exited. -/
def BNext (Post : Heap C V → Prop)
    (I : (C → Option Nat) → (Nat → C → Own V) → (Nat → Nat → Tree C V) → Heap C V → Prop)
    (th : Nat → Nat → Tree C V) (m : Heap C V) : Prop :=
  ((∀ w l, w < nw → l < 32 → th w l = .ret) ∧ Post m) ∨
  ∃ s k, AtBar nw th s k ∧ ∃ wown own, I wown own k m

/-- A block keeps the discipline to its end and ends in `Post` (greatest fixpoint). -/
def BlockSafe (Post : Heap C V → Prop) (wown : C → Option Nat) (own : Nat → C → Own V)
    (th : Nat → Nat → Tree C V) (m : Heap C V) : Prop :=
  ∃ I : (C → Option Nat) → (Nat → C → Own V) → (Nat → Nat → Tree C V) → Heap C V → Prop,
    I wown own th m ∧ ∀ wown own th m, I wown own th m → BSeg nw B wown own th m (BNext nw Post I)

variable {nw B}

theorem BSeg.mono {wown own} {th : Nat → Nat → Tree C V} {m : Heap C V} {N N'}
    (h : ∀ th m, N th m → N' th m) (g : BSeg nw B wown own th m N) : BSeg nw B wown own th m N' := by
  obtain ⟨Φ, h1, h2⟩ := g; exact ⟨Φ, h1, fun th' m' a b => h _ _ (h2 th' m' a b)⟩

theorem BNext.mono {P} {I I' : (C → Option Nat) → (Nat → C → Own V) → (Nat → Nat → Tree C V) → Heap C V → Prop}
    (h : ∀ wown own th m, I wown own th m → I' wown own th m) {th m} (g : BNext nw P I th m) :
    BNext nw P I' th m :=
  g.imp id fun ⟨s, k, h3, wown, own, h4⟩ => ⟨s, k, h3, wown, own, h _ _ _ _ h4⟩

theorem BlockSafe.unfold {P wown own} {th : Nat → Nat → Tree C V} {m : Heap C V}
    (g : BlockSafe nw B P wown own th m) : BSeg nw B wown own th m (BNext nw P (BlockSafe nw B P)) := by
  obtain ⟨I, h1, h2⟩ := g
  exact (h2 _ _ _ _ h1).mono fun th m h => h.mono fun _ _ _ _ h => ⟨I, h, h2⟩

theorem BlockSafe.fold {P wown own} {th : Nat → Nat → Tree C V} {m : Heap C V}
    (g : BSeg nw B wown own th m (BNext nw P (BlockSafe nw B P))) : BlockSafe nw B P wown own th m :=
  ⟨fun wown own th m => BSeg nw B wown own th m (BNext nw P (BlockSafe nw B P)), g,
    fun _ _ _ _ h => h.mono fun _ _ h => h.mono fun _ _ _ _ h => h.unfold⟩

theorem BSeg.frame {wown own} {th : Nat → Nat → Tree C V} {m m' : Heap C V} {N}
    (h : ∀ c, B.vis c → m c = m' c) (g : BSeg nw B wown own th m N) : BSeg nw B wown own th m' N := by
  obtain ⟨Ψ, h1, h2⟩ := g
  refine ⟨Ψ, fun w hw => (h1 w hw).frame (fun c hc => h c hc.1), fun th' m2 H1 H2 => h2 th' m2 H1 ?_⟩
  intro c hc ho; rw [H2 c hc ho, h c hc]

theorem BSeg.congr {wown own} {th th' : Nat → Nat → Tree C V} {m : Heap C V} {N}
    (e : ∀ w l, w < nw → l < 32 → th' w l = th w l) (g : BSeg nw B wown own th m N) :
    BSeg nw B wown own th' m N := by
  obtain ⟨Ψ, h1, h2⟩ := g
  exact ⟨Ψ, fun w hw => (h1 w hw).congr (fun l hl => e w l hw hl), h2⟩

theorem BlockSafe.congr {P wown own} {th th' : Nat → Nat → Tree C V} {m : Heap C V}
    (e : ∀ w l, w < nw → l < 32 → th' w l = th w l) (g : BlockSafe nw B P wown own th m) :
    BlockSafe nw B P wown own th' m := .fold (g.unfold.congr e)

/-- One warp moves, from its owners `own w` to owners that satisfy `G`. -/
theorem BSeg.step {wown} {own : Nat → C → Own V} {w : Nat} {th : Nat → Nat → Tree C V} {m m' : Heap C V}
    {N} {tw : Nat → Tree C V} (G : (C → Own V) → Prop) (hw : w < nw)
    (hm : ∀ c, m' c = m c ∨ (B.wr c ∧ wown c = some w))
    (H : ∀ Ψ, WarpSafe (wscope B wown w) (own w) Ψ (th w) m →
      ∃ o, G o ∧ WarpSafe (wscope B wown w) o Ψ tw m')
    (g : BSeg nw B wown own th m N) : ∃ o, G o ∧ BSeg nw B wown (upd own w o) (upd th w tw) m' N := by
  obtain ⟨Ψ, h1, h2⟩ := g
  obtain ⟨o, ho, hw'⟩ := H _ (h1 w hw)
  refine ⟨o, ho, Ψ, fun u hu => ?_, fun th' m2 H1 H2 => h2 th' m2 H1 ?_⟩
  · by_cases hut : u = w
    · subst hut; rw [upd_eq, upd_eq]; exact hw'
    · rw [upd_ne _ _ hut, upd_ne _ _ hut]
      refine (h1 u hu).frame (fun c hc => ?_)
      rcases hm c with e | e
      · exact e.symm
      · have h3 := e.2; have h4 := hc.2; grind
  · intro c hc ho; rw [H2 c hc ho]
    rcases hm c with e | e
    · exact e
    · exact absurd e.2 (ho w hw)

/-- All threads of the block stand at one barrier: the continuation is safe with new owners. -/
theorem BlockSafe.bar {P wown own} {th : Nat → Nat → Tree C V} {m : Heap C V} {s k}
    (g : BlockSafe nw B P wown own th m) (hk : AtBar nw th s k) :
    ∃ wown own, BlockSafe nw B P wown own k m := by
  obtain ⟨Ψ, h1, h2⟩ := g.unfold
  have hend : ∀ w t, w < nw → t < 32 → (th w t).isEnd := by
    intro w t hw ht; rcases hk.1 w t hw ht with e | ⟨e, _⟩ <;> rw [e] <;> trivial
  have hN : BNext nw P (BlockSafe nw B P) th m := by
    refine h2 _ _ (fun w hw => ⟨m, ?_, fun _ _ _ => rfl⟩) (fun _ _ _ => rfl)
    have hst : ∀ t, t < 32 → (th w t).stands := by
      intro t ht; rcases hk.1 w t hw ht with e | ⟨e, _⟩ <;> rw [e] <;> trivial
    rcases (h1 w hw).ends hst with ⟨_, h3⟩ | ⟨s', x, k', h3, _⟩ | ⟨s', k', ⟨_, l, hl, h3⟩, _⟩
    · exact h3
    · have := hend w 0 hw (by omega); rw [h3 0 (by omega)] at this; exact this.elim
    · have := hend w l hw hl; rw [h3] at this; exact this.elim
  rcases hN with ⟨h3, _⟩ | ⟨s', k', h3, wown, own, h4⟩
  · obtain ⟨w, l, hw, hl, e⟩ := hk.2
    have := h3 w l hw hl; rw [e] at this; cases this
  · refine ⟨wown, own, h4.congr fun w t hw ht => ?_⟩
    rcases h3.1 w t hw ht with e | ⟨e, e2⟩ <;> rcases hk.1 w t hw ht with f | ⟨f, f2⟩
    · rw [e] at f; exact (Tree.bar.inj f).2.symm
    · rw [e] at f; cases f
    · rw [e] at f; cases f
    · rw [e2, f2]

/-! ### The log respects the owners -/

/-- Every logged access was allowed by the current owners of its distance. -/
structure LogOk (gown : C → Option Nat) (wown : Nat → C → Option Nat) (own : Nat → Nat → C → Own V)
    (g : Log C V) : Prop where
  blockW : ∀ c b v, g.block c b (.write v) → gown c = some b
  blockR : ∀ c b, g.block c b .read → gown c = none ∨ gown c = some b
  warpW : ∀ c b w v, g.warp c b w (.write v) → wown b c = some w
  warpR : ∀ c b w, g.warp c b w .read → wown b c = none ∨ wown b c = some w
  laneW : ∀ c b w l v, g.lane c b w l (.write v) → own b w c = .lane l ∨ own b w c = .same v
  laneR : ∀ c b w l, g.lane c b w l .read → own b w c = .free ∨ own b w c = .lane l

variable {gown : C → Option Nat} {wown : Nat → C → Option Nat} {own : Nat → Nat → C → Own V} {g : Log C V}

theorem LogOk.empty : LogOk gown wown own (Log.empty) :=
  ⟨fun _ _ _ h => h.elim, fun _ _ h => h.elim, fun _ _ _ _ h => h.elim, fun _ _ _ h => h.elim,
    fun _ _ _ _ _ h => h.elim, fun _ _ _ _ h => h.elim⟩

theorem LogOk.addRead (h : LogOk gown wown own g) {c b w l}
    (h1 : gown c = none ∨ gown c = some b) (h2 : wown b c = none ∨ wown b c = some w)
    (h3 : own b w c = .free ∨ own b w c = .lane l) : LogOk gown wown own (g.add c b w l .read) := by
  refine ⟨?_, ?_, ?_, ?_, ?_, ?_⟩
  · rintro c' b' v (e | ⟨_, _, e⟩)
    · exact h.blockW _ _ _ e
    · cases e
  · rintro c' b' (e | ⟨rfl, rfl, _⟩)
    · exact h.blockR _ _ e
    · exact h1
  · rintro c' b' w' v (e | ⟨_, _, _, e⟩)
    · exact h.warpW _ _ _ _ e
    · cases e
  · rintro c' b' w' (e | ⟨rfl, rfl, rfl, _⟩)
    · exact h.warpR _ _ _ e
    · exact h2
  · rintro c' b' w' l' v (e | ⟨_, _, _, _, e⟩)
    · exact h.laneW _ _ _ _ _ e
    · cases e
  · rintro c' b' w' l' (e | ⟨rfl, rfl, rfl, rfl, _⟩)
    · exact h.laneR _ _ _ _ e
    · exact h3

theorem LogOk.addWrite (h : LogOk gown wown own g) {c b w l v}
    (h1 : gown c = some b) (h2 : wown b c = some w)
    (h3 : own b w c = .lane l ∨ own b w c = .same v) :
    LogOk gown wown own (g.add c b w l (.write v)) := by
  refine ⟨?_, ?_, ?_, ?_, ?_, ?_⟩
  · rintro c' b' v' (e | ⟨rfl, rfl, _⟩)
    · exact h.blockW _ _ _ e
    · exact h1
  · rintro c' b' (e | ⟨_, _, e⟩)
    · exact h.blockR _ _ e
    · cases e
  · rintro c' b' w' v' (e | ⟨rfl, rfl, rfl, _⟩)
    · exact h.warpW _ _ _ _ e
    · exact h2
  · rintro c' b' w' (e | ⟨_, _, _, e⟩)
    · exact h.warpR _ _ _ e
    · cases e
  · rintro c' b' w' l' v' (e | ⟨rfl, rfl, rfl, rfl, e⟩)
    · exact h.laneW _ _ _ _ _ e
    · cases e; exact h3
  · rintro c' b' w' l' (e | ⟨_, _, _, _, e⟩)
    · exact h.laneR _ _ _ _ e
    · cases e

theorem upd2_ne {α : Type} (f : Nat → Nat → α) {b w b' w' : Nat} (x : α) (h : ¬ (b' = b ∧ w' = w)) :
    upd f b (upd (f b) w x) b' w' = f b' w' := by
  by_cases e : b' = b
  · subst e; rw [upd_eq, upd_ne _ _ (fun e => h ⟨rfl, e⟩)]
  · rw [upd_ne _ _ e]

theorem LogOk.syncWarp (h : LogOk gown wown own g) (b w : Nat) (o : C → Own V) :
    LogOk gown wown (upd own b (upd (own b) w o)) (g.syncWarp b w) :=
  ⟨h.blockW, h.blockR, h.warpW, h.warpR,
    fun c b' w' l v ⟨e, n⟩ => by rw [upd2_ne _ _ n]; exact h.laneW _ _ _ _ _ e,
    fun c b' w' l ⟨e, n⟩ => by rw [upd2_ne _ _ n]; exact h.laneR _ _ _ _ e⟩

theorem LogOk.syncBlock (h : LogOk gown wown own g) (b : Nat) (wo : C → Option Nat) (o : Nat → C → Own V) :
    LogOk gown (upd wown b wo) (upd own b o) (g.syncBlock b) :=
  ⟨h.blockW, h.blockR,
    fun c b' w v ⟨e, n⟩ => by rw [upd_ne _ _ n]; exact h.warpW _ _ _ _ e,
    fun c b' w ⟨e, n⟩ => by rw [upd_ne _ _ n]; exact h.warpR _ _ _ e,
    fun c b' w l v ⟨e, n⟩ => by rw [upd_ne _ _ n]; exact h.laneW _ _ _ _ _ e,
    fun c b' w l ⟨e, n⟩ => by rw [upd_ne _ _ n]; exact h.laneR _ _ _ _ e⟩

/-- An allowed read conflicts with nothing unordered. -/
theorem LogOk.read_ordered (h : LogOk gown wown own g) {c b w l}
    (h1 : gown c = none ∨ gown c = some b) (h2 : wown b c = none ∨ wown b c = some w)
    (h3 : own b w c = .free ∨ own b w c = .lane l) : ¬ g.Unordered c b w l .read := by
  rintro (⟨l', a, hl, e, hc⟩ | ⟨w', a, hw, e, hc⟩ | ⟨b', a, hb, e, hc⟩)
  · cases a with
    | read => exact hc
    | write v => have := h.laneW _ _ _ _ _ e; grind
  · cases a with
    | read => exact hc
    | write v => have := h.warpW _ _ _ _ e; grind
  · cases a with
    | read => exact hc
    | write v => have := h.blockW _ _ _ e; grind

/-- An allowed write conflicts with nothing unordered. -/
theorem LogOk.write_ordered (h : LogOk gown wown own g) {c b w l v}
    (h1 : gown c = some b) (h2 : wown b c = some w)
    (h3 : own b w c = .lane l ∨ own b w c = .same v) : ¬ g.Unordered c b w l (.write v) := by
  rintro (⟨l', a, hl, e, hc⟩ | ⟨w', a, hw, e, hc⟩ | ⟨b', a, hb, e, hc⟩)
  · cases a with
    | read => have := h.laneR _ _ _ _ e; grind
    | write v' =>
      have hv : v' ≠ v := hc
      have := h.laneW _ _ _ _ _ e; grind
  · cases a with
    | read => have := h.warpR _ _ _ e; grind
    | write v' => have := h.warpW _ _ _ _ e; grind
  · cases a with
    | read => have := h.blockR _ _ e; grind
    | write v' => have := h.blockW _ _ _ e; grind

end KShell
