module

public import KShell.Machine

/-!
# Ownership inside a warp

Between two synchronisations of a warp, every cell is free (nobody writes), belongs to one lane, or may
be stored by any lane with one fixed value. Under this discipline the private runs of the lanes determine
the merged memory, whatever the interleaving. Owners stay fixed across shuffles and change at
`__syncwarp` only.
-/

@[expose] public section
noncomputable section
namespace KShell
open scoped Classical

variable {C V : Type}

/-- What a unit (a block, a warp) may see and may write. -/
structure Scope (C : Type) where
  /-- Cells whose contents the unit may rely on. -/
  vis : C → Prop
  /-- Cells the unit may write. -/
  wr : C → Prop

/-- Owner of a cell between two synchronisations of a warp. -/
inductive Own (V : Type) where
  /-- Everybody may read, nobody writes. -/
  | free
  /-- Lane `l` reads and writes. -/
  | lane (l : Nat)
  /-- Every lane may write `v` and only `v`; nobody reads. -/
  | same (v : V)

theorem upd_eq {α : Type} (f : Nat → α) (i : Nat) (p : α) : upd f i p i = p := by simp [upd]
theorem upd_ne {α : Type} (f : Nat → α) {i j : Nat} (p : α) (h : j ≠ i) : upd f i p j = f j := by
  simp [upd, h]

variable (S : Scope C)

/-- Lane `t` keeps the discipline up to its next collective or exit, and reaches it in `Q`. -/
def laneWp (own : C → Own V) (t : Nat) : Tree C V → (Tree C V → Heap C V → Prop) → Heap C V → Prop
  | .fault, _, _ => False
  | .load c k, Q, m => S.vis c ∧ (own c = .free ∨ own c = .lane t) ∧ ∃ v, m c = some v ∧ laneWp own t (k v) Q m
  | .store c v k, Q, m => S.wr c ∧ (own c = .lane t ∨ own c = .same v) ∧ laneWp own t k Q (m.set c v)
  | .ret, Q, m => Q .ret m
  | .shfl s x k, Q, m => Q (.shfl s x k) m
  | .sync s k, Q, m => Q (.sync s k) m
  | .bar s k, Q, m => Q (.bar s k) m

/-- `m` and `m'` agree on what lane `t` can tell. -/
def Rel (own : C → Own V) (t : Nat) (m m' : Heap C V) : Prop :=
  ∀ c, S.vis c → (own c = .free ∨ own c = .lane t → m c = m' c) ∧
    (∀ v, own c = .same v → m c = some v → m' c = some v)

/-- The result `m` of the private run of lane `t`, seen in the merged memory `m'`. -/
def Res (own : C → Own V) (t : Nat) (m m' : Heap C V) : Prop :=
  ∀ c, S.vis c → (own c = .lane t → m c = m' c) ∧ (∀ v, own c = .same v → m c = some v → m' c = some v)

/-- No lane of the warp writes the cell. -/
def Idle (own : C → Own V) (c : C) : Prop := own c = .free ∨ ∃ t, own c = .lane t ∧ 32 ≤ t

/-- The lanes of a warp up to their next collectives, under `own`; then `N`. -/
def Seg (own : C → Own V) (th : Nat → Tree C V) (m : Heap C V)
    (N : (Nat → Tree C V) → Heap C V → Prop) : Prop :=
  ∃ Φ : Nat → Tree C V → Heap C V → Prop,
    (∀ t, t < 32 → laneWp S own t (th t) (Φ t) m) ∧
    ∀ (th' : Nat → Tree C V) (m' : Heap C V),
      (∀ t, t < 32 → ∃ mt, Φ t (th' t) mt ∧ Res S own t mt m') →
      (∀ c, S.vis c → Idle own c → m' c = m c) → N th' m'

/-- The thread has exited or stands at a block barrier. -/
def Tree.isEnd : Tree C V → Prop
  | .ret => True
  | .bar _ _ => True
  | _ => False

/-- What may happen when all lanes stand: the segment of the block ends in `N`, or a shuffle continues in
`I` with the same owners, or a `__syncwarp` continues in `I` with new owners. -/
def WNext (N : (Nat → Tree C V) → Heap C V → Prop)
    (I : (C → Own V) → (Nat → Tree C V) → Heap C V → Prop) (own : C → Own V)
    (th : Nat → Tree C V) (m : Heap C V) : Prop :=
  ((∀ l, l < 32 → (th l).isEnd) ∧ N th m) ∨
  (∃ s x k, AtShfl th s x k ∧ I own (fun l => k l (fun i => x (i % 32))) m) ∨
  (∃ s k, AtSync th s k ∧ ∃ own', I own' k m)

/-- A warp keeps the discipline to the next block barrier and reaches it in `N` (greatest fixpoint). -/
def WarpSafe (own : C → Own V) (N : (Nat → Tree C V) → Heap C V → Prop) (th : Nat → Tree C V)
    (m : Heap C V) : Prop :=
  ∃ I : (C → Own V) → (Nat → Tree C V) → Heap C V → Prop,
    I own th m ∧ ∀ own th m, I own th m → Seg S own th m (WNext N I own)

variable {S}

theorem Rel.refl {own : C → Own V} {t} {m : Heap C V} : Rel S own t m m :=
  fun _ _ => ⟨fun _ => rfl, fun _ _ h => h⟩

theorem Res.trans {own : C → Own V} {t} {m m1 m2 : Heap C V} (h : Rel S own t m m1)
    (h' : Res S own t m1 m2) : Res S own t m m2 :=
  fun c hc => ⟨fun ho => by rw [(h c hc).1 (.inr ho)]; exact (h' c hc).1 ho,
    fun v ho e => (h' c hc).2 v ho ((h c hc).2 v ho e)⟩

/-- A lane does not notice what other lanes do. -/
theorem laneWp_frame {own : C → Own V} {t : Nat} {Q : Tree C V → Heap C V → Prop} (p : Tree C V) :
    ∀ {m m' : Heap C V}, Rel S own t m m' → laneWp S own t p Q m →
      laneWp S own t p (fun r m' => ∃ m, Q r m ∧ Rel S own t m m') m' := by
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
    · exact id
    · exact (h d hd).2 v' h'

theorem Seg.mono {own : C → Own V} {th : Nat → Tree C V} {m : Heap C V} {N N'}
    (h : ∀ th m, N th m → N' th m) (g : Seg S own th m N) : Seg S own th m N' := by
  obtain ⟨Φ, h1, h2⟩ := g
  exact ⟨Φ, h1, fun th' m' a b => h _ _ (h2 th' m' a b)⟩

theorem Seg.frame {own : C → Own V} {th : Nat → Tree C V} {m m' : Heap C V} {N}
    (h : ∀ c, S.vis c → m c = m' c) (g : Seg S own th m N) : Seg S own th m' N := by
  obtain ⟨Φ, h1, h2⟩ := g
  refine ⟨_, fun t ht => laneWp_frame (th t)
    (fun c hc => ⟨fun _ => h c hc, fun v _ e => by rw [← h c hc]; exact e⟩) (h1 t ht),
    fun th' m2 H1 H2 => h2 th' m2 ?_ ?_⟩
  · intro t ht
    obtain ⟨mt, ⟨m0, hΦ, e⟩, H⟩ := H1 t ht
    exact ⟨m0, hΦ, .trans e H⟩
  · intro c hc ho; rw [H2 c hc ho, h c hc]

theorem Seg.load {own : C → Own V} {t : Nat} {th : Nat → Tree C V} {m : Heap C V} {N} {c k v}
    (ht : t < 32) (e : th t = .load c k) (hv : m c = some v) (g : Seg S own th m N) :
    Seg S own (upd th t (k v)) m N := by
  obtain ⟨Φ, h1, h2⟩ := g
  refine ⟨Φ, fun u hu => ?_, h2⟩
  by_cases hut : u = t
  · subst hut; have := h1 u hu; rw [e] at this; obtain ⟨_, _, w, hw, h⟩ := this
    rw [hv] at hw; cases hw; rw [upd_eq]; exact h
  · rw [upd_ne _ _ hut]; exact h1 u hu

theorem Seg.store {own : C → Own V} {t : Nat} {th : Nat → Tree C V} {m : Heap C V} {N} {c k v}
    (ht : t < 32) (e : th t = .store c v k) (g : Seg S own th m N) :
    Seg S own (upd th t k) (m.set c v) N := by
  obtain ⟨Φ, h1, h2⟩ := g
  have ha := h1 t ht; rw [e] at ha; obtain ⟨a1, a2, a3⟩ := ha
  refine ⟨fun u r m' => ∃ m, Φ u r m ∧ Rel S own u m m', fun u hu => ?_, fun th' m2 H1 H2 => h2 th' m2 ?_ ?_⟩
  · by_cases hut : u = t
    · subst hut; rw [upd_eq]; exact laneWp_frame k Rel.refl a3
    · rw [upd_ne _ _ hut]; refine laneWp_frame _ (fun d hd => ?_) (h1 u hu)
      simp only [Heap.set]
      refine ⟨fun h' => ?_, fun v' h' => ?_⟩ <;> split
      · subst d; grind
      · rfl
      · subst d; intro _; grind
      · exact id
  · intro u hu
    obtain ⟨mt, ⟨m0, hΦ, e⟩, H⟩ := H1 u hu
    exact ⟨m0, hΦ, .trans e H⟩
  · intro d hd ho; rw [H2 d hd ho]; simp only [Heap.set]; split
    · subst d; simp only [Idle] at ho; grind
    · rfl

/-- The tree neither loads nor stores nor faults next. -/
def Tree.stands : Tree C V → Prop
  | .ret => True
  | .bar _ _ => True
  | .shfl _ _ _ => True
  | .sync _ _ => True
  | _ => False

theorem Seg.ends {own : C → Own V} {th : Nat → Tree C V} {m : Heap C V} {N} (g : Seg S own th m N)
    (h : ∀ t, t < 32 → (th t).stands) : N th m := by
  obtain ⟨Φ, h1, h2⟩ := g
  refine h2 th m (fun t ht => ⟨m, ?_, fun _ _ => ⟨fun _ => rfl, fun _ _ h => h⟩⟩) (fun _ _ _ => rfl)
  have := h1 t ht
  have hh := h t ht
  revert this hh; cases th t <;> simp [Tree.stands, laneWp]

theorem Seg.congr {own : C → Own V} {N} {th th' : Nat → Tree C V} {m : Heap C V}
    (e : ∀ t, t < 32 → th' t = th t) (g : Seg S own th m N) : Seg S own th' m N := by
  obtain ⟨Φ, h1, h2⟩ := g
  exact ⟨Φ, fun t ht => by rw [e t ht]; exact h1 t ht, h2⟩

theorem WNext.mono {N} {I I' : (C → Own V) → (Nat → Tree C V) → Heap C V → Prop}
    (h : ∀ own th m, I own th m → I' own th m) {own th m} (g : WNext N I own th m) :
    WNext N I' own th m := by
  rcases g with g | ⟨s, x, k, g1, g2⟩ | ⟨s, k, g1, o, g2⟩
  · exact .inl g
  · exact .inr (.inl ⟨s, x, k, g1, h _ _ _ g2⟩)
  · exact .inr (.inr ⟨s, k, g1, o, h _ _ _ g2⟩)

theorem WarpSafe.unfold {own : C → Own V} {N} {th : Nat → Tree C V} {m : Heap C V}
    (g : WarpSafe S own N th m) : Seg S own th m (WNext N (fun o => WarpSafe S o N) own) := by
  obtain ⟨I, h1, h2⟩ := g
  exact (h2 _ _ _ h1).mono fun th m h => h.mono fun o th m h => ⟨I, h, h2⟩

theorem WarpSafe.fold {own : C → Own V} {N} {th : Nat → Tree C V} {m : Heap C V}
    (g : Seg S own th m (WNext N (fun o => WarpSafe S o N) own)) : WarpSafe S own N th m :=
  ⟨fun o th m => Seg S o th m (WNext N (fun o => WarpSafe S o N) o), g,
    fun _ _ _ h => h.mono fun _ _ h => h.mono fun _ _ _ h => h.unfold⟩

theorem WarpSafe.ends {own : C → Own V} {N} {th : Nat → Tree C V} {m : Heap C V}
    (g : WarpSafe S own N th m) (h : ∀ t, t < 32 → (th t).stands) :
    WNext N (fun o => WarpSafe S o N) own th m := g.unfold.ends h

theorem WarpSafe.congr {own : C → Own V} {N} {th th' : Nat → Tree C V} {m : Heap C V}
    (e : ∀ t, t < 32 → th' t = th t) (g : WarpSafe S own N th m) : WarpSafe S own N th' m :=
  .fold (g.unfold.congr e)

theorem WarpSafe.frame {own : C → Own V} {N} {th : Nat → Tree C V} {m m' : Heap C V}
    (h : ∀ c, S.vis c → m c = m' c) (g : WarpSafe S own N th m) : WarpSafe S own N th m' :=
  .fold (g.unfold.frame h)

/-- At a shuffle the owners stay. -/
theorem WarpSafe.shfl {own : C → Own V} {N} {th : Nat → Tree C V} {m : Heap C V} {s x k}
    (g : WarpSafe S own N th m) (h : AtShfl th s x k) :
    WarpSafe S own N (fun l => k l (fun i => x (i % 32))) m := by
  rcases g.ends (fun t ht => by rw [h t ht]; trivial) with ⟨h1, _⟩ | ⟨s', x', k', h1, h2⟩ | ⟨s', k', ⟨_, l, hl, h1⟩, _⟩
  · have := h1 0 (by omega); rw [h 0 (by omega)] at this; exact this.elim
  · have hxk : ∀ l, l < 32 → x' l = x l ∧ k' l = k l := by
      intro l hl
      have e := h1 l hl; rw [h l hl] at e
      have := Tree.shfl.inj e; exact ⟨this.2.1.symm, this.2.2.symm⟩
    have hx : (fun i => x' (i % 32)) = (fun i => x (i % 32)) := by
      funext i; exact (hxk _ (Nat.mod_lt _ (by omega))).1
    refine h2.congr fun l hl => ?_
    rw [hx, (hxk l hl).2]
  · rw [h l hl] at h1; cases h1

/-- At a `__syncwarp` the owners may change. -/
theorem WarpSafe.sync {own : C → Own V} {N} {th : Nat → Tree C V} {m : Heap C V} {s k}
    (g : WarpSafe S own N th m) (h : AtSync th s k) : ∃ own', WarpSafe S own' N k m := by
  have hs : ∀ t, t < 32 → (th t).stands := by
    intro t ht; rcases h.1 t ht with e | ⟨e, _⟩ <;> rw [e] <;> trivial
  obtain ⟨l, hl, e⟩ := h.2
  rcases g.ends hs with ⟨h1, _⟩ | ⟨s', x', k', h1, _⟩ | ⟨s', k', h1, o, h2⟩
  · have := h1 l hl; rw [e] at this; exact this.elim
  · have := h1 l hl; rw [e] at this; cases this
  · refine ⟨o, h2.congr fun t ht => ?_⟩
    rcases h1.1 t ht with f | ⟨f, f2⟩ <;> rcases h.1 t ht with g | ⟨g, g2⟩
    · rw [f] at g; exact (Tree.sync.inj g).2.symm
    · rw [f] at g; cases g
    · rw [f] at g; cases g
    · rw [f2, g2]

theorem WarpSafe.load {own : C → Own V} {t : Nat} {th : Nat → Tree C V} {m : Heap C V} {N} {c k v}
    (ht : t < 32) (e : th t = .load c k) (hv : m c = some v) (g : WarpSafe S own N th m) :
    WarpSafe S own N (upd th t (k v)) m := .fold (g.unfold.load ht e hv)

theorem WarpSafe.store {own : C → Own V} {t : Nat} {th : Nat → Tree C V} {m : Heap C V} {N} {c k v}
    (ht : t < 32) (e : th t = .store c v k) (g : WarpSafe S own N th m) :
    WarpSafe S own N (upd th t k) (m.set c v) := .fold (g.unfold.store ht e)

/-- What lane `t` does next is allowed. -/
theorem WarpSafe.next {own : C → Own V} {t : Nat} {th : Nat → Tree C V} {m : Heap C V} {N}
    (ht : t < 32) (g : WarpSafe S own N th m) : ∃ Q, laneWp S own t (th t) Q m := by
  obtain ⟨Φ, h1, _⟩ := g.unfold
  exact ⟨_, h1 t ht⟩

end KShell
