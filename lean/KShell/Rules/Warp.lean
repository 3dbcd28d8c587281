module

public import KShell.Sound.Thread

/-!
# Rules for warp code

`warpWp W p Q β`: the lanes of a warp run `p` (thread code, shuffles, `__syncwarp`) from `β` under the
owners `β.own`, keep the discipline, and end in a state that satisfies `Q`. The judgement is about the
trees of the machine, so each rule below is its own soundness proof.
-/

@[expose] public section
noncomputable section
namespace KShell
open scoped Classical
set_option linter.unusedSectionVars false

variable {R : Type} [ExactReal R]

/-- State of a warp: registers by lane, memory, and the owners of the cells up to the next
synchronisation. -/
structure WSt (R : Type) where
  /-- Registers by lane. -/
  reg : Nat → Reg R
  /-- Memory. -/
  mem : Mem R
  /-- Owners. -/
  own : Nat → Int → Own (Ext R)

/-- Where a warp runs and what it may see and write between two barriers. -/
structure WarpCtx where
  /-- The launch. -/
  launch : Launch
  /-- Block number. -/
  block : Nat
  /-- Warp number in the block. -/
  warp : Nat
  /-- Cells the warp may rely on. -/
  vis : Nat → Int → Prop
  /-- Cells the warp may write. -/
  wr : Nat → Int → Prop

namespace WarpCtx
variable (W : WarpCtx)

/-- The lane exists: it is below the block size. -/
def live (l : Nat) : Prop := 32 * W.warp + l < W.launch.block.count

/-- Where lane `l` runs. -/
def place (l : Nat) : Place R := W.launch.place W.block W.warp l

/-- Environment of lane `l`. -/
def env (l : Nat) : Env R := W.launch.env W.block (32 * W.warp + l : Nat)

/-- The cell of an array element. -/
def cell (a : Nat) (i : Int) : Cell := W.launch.cell W.block a i

/-- What lane `l` may do under the owners. -/
def perm (own : Nat → Int → Own (Ext R)) (l : Nat) : Perm R :=
  ⟨fun a i => W.vis a i ∧ (own a i = .free ∨ own a i = .lane l),
    fun a i x => W.wr a i ∧ (own a i = .lane l ∨ own a i = .same x)⟩

/-- The trees of the lanes; lanes beyond the block size have exited. -/
def lanes (f : Nat → Tree Cell (Ext R)) (l : Nat) : Tree Cell (Ext R) := if W.live l then f l else .ret

/-- The scope of the machine covers the context, and consists of cells of the block. -/
def Fits (S : Scope Cell) : Prop :=
  (∀ a i, W.vis a i → S.vis (W.cell a i)) ∧ (∀ a i, W.wr a i → S.wr (W.cell a i)) ∧
  ∀ c, S.vis c → ∃ a i, c = W.cell a i

end WarpCtx

/-- Owners of cells from owners of array elements. -/
def ofElem {α : Type} (f : Nat → Int → α) : Cell → α := fun c => f c.2.1 c.2.2

/-- The heap shows the warp the memory; a cell that only takes the value `v` holds it when the memory
says so. -/
def AgreeW (cell : Nat → Int → Cell) (vis : Cell → Prop) (own : Nat → Int → Own (Ext R))
    (m : Heap Cell (Ext R)) (M : Mem R) : Prop :=
  ∀ a i, vis (cell a i) → ((∀ v, own a i ≠ .same v) → m (cell a i) = M a i) ∧
    (∀ v, own a i = .same v → M a i = some v → m (cell a i) = some v)

/-- Warp code: see the head of the file. -/
def warpWp (W : WarpCtx) (p : Stmt) (Q : WSt R → Prop) (β : WSt R) : Prop :=
  ∃ β', Q β' ∧ ∃ f0, ∀ fuel, f0 ≤ fuel → ∀ site (S : Scope Cell), W.Fits S →
    ∀ (K : Nat → Reg R → Tree Cell (Ext R)) (N : (Nat → Tree Cell (Ext R)) → Heap Cell (Ext R) → Prop),
      (∀ m', AgreeW W.cell S.vis β'.own m' β'.mem →
        WarpSafe S (ofElem β'.own) N (W.lanes fun l => K l (β'.reg l)) m') →
      ∀ m, AgreeW W.cell S.vis β.own m β.mem →
        WarpSafe S (ofElem β.own) N (W.lanes fun l => p.tree (W.place l) fuel site (K l) (β.reg l)) m

variable {W : WarpCtx} {Q : WSt R → Prop} {β : WSt R}

theorem warpWp_mono {p : Stmt} {Q' : WSt R → Prop} (h : ∀ β, Q β → Q' β) : warpWp W p Q β → warpWp W p Q' β :=
  fun ⟨β', h1, h2⟩ => ⟨β', h _ h1, h2⟩

/-- Nothing. -/
theorem warp_skip (h : Q β) : warpWp W .skip Q β :=
  ⟨β, h, 0, fun _ _ _ _ _ _ _ hK m hm => hK m hm⟩

/-- One after the other. -/
theorem warp_seq {p q : Stmt} (h : warpWp W p (warpWp W q Q) β) : warpWp W (.seq p q) Q β := by
  obtain ⟨β1, ⟨β', h3, f2, h4⟩, f1, h2⟩ := h
  exact ⟨β', h3, max f1 f2, fun fuel hf site S hS K N hK m hm =>
    h2 fuel (by omega) _ S hS (fun l => q.tree (W.place l) fuel (site + p.sites) (K l)) N
      (fun m' ha => h4 fuel (by omega) _ S hS K N hK m' ha) m hm⟩

theorem WarpCtx.lanes_congr {f g : Nat → Tree Cell (Ext R)} (h : ∀ l, l < 32 → W.live l → f l = g l) :
    ∀ l, l < 32 → W.lanes f l = W.lanes g l := by
  intro l hl; simp only [WarpCtx.lanes]; split
  · next hv => exact h l hl hv
  · rfl

/-- A conditional on which all lanes agree. -/
theorem warp_ite {c : BExpr} {p q : Stmt} (ho : ∀ l, l < 32 → W.live l → c.ok (W.env l) (β.reg l))
    (h : ((∀ l, l < 32 → W.live l → c.val (W.env l) (β.reg l)) ∧ warpWp W p Q β) ∨
      ((∀ l, l < 32 → W.live l → ¬ c.val (W.env l) (β.reg l)) ∧ warpWp W q Q β)) :
    warpWp W (.ite c p q) Q β := by
  have he : ∀ l, (W.place l : Place R).env = W.env l := fun _ => rfl
  rcases h with ⟨hc, β', h1, f0, h2⟩ | ⟨hc, β', h1, f0, h2⟩
  · exact ⟨β', h1, f0, fun fuel hf site S hS K N hK m hm => (h2 fuel hf site S hS K N hK m hm).congr
      (WarpCtx.lanes_congr fun l hl hv => by
        simp only [Stmt.tree, he, BExpr.eval_eq _ _ _ (ho l hl hv), hc l hl hv, decide_true])⟩
  · exact ⟨β', h1, f0, fun fuel hf site S hS K N hK m hm => (h2 fuel hf (site + p.sites) S hS K N hK m hm).congr
      (WarpCtx.lanes_congr fun l hl hv => by
        simp only [Stmt.tree, he, BExpr.eval_eq _ _ _ (ho l hl hv), hc l hl hv, decide_false])⟩

/-- A loop of exactly `N` rounds on which all lanes agree. -/
theorem warp_while {c : BExpr} {body : Stmt} (N : Nat) (I : Nat → WSt R → Prop) (h0 : I 0 β)
    (hc : ∀ k β, k < N → I k β → ∀ l, l < 32 → W.live l → c.ok (W.env l) (β.reg l) ∧ c.val (W.env l) (β.reg l))
    (hb : ∀ k β, k < N → I k β → warpWp W body (I (k + 1)) β)
    (hx : ∀ β, I N β → (∀ l, l < 32 → W.live l → c.ok (W.env l) (β.reg l) ∧ ¬ c.val (W.env l) (β.reg l)) ∧ Q β) :
    warpWp W (.while c body) Q β := by
  have he : ∀ l, (W.place l : Place R).env = W.env l := fun _ => rfl
  have main : ∀ n k β, k + n = N → I k β → ∃ β', Q β' ∧ ∃ f0, ∀ fuel j, f0 ≤ fuel → f0 ≤ j →
      ∀ site (S : Scope Cell), W.Fits S → ∀ (K : Nat → Reg R → Tree Cell (Ext R))
      (N : (Nat → Tree Cell (Ext R)) → Heap Cell (Ext R) → Prop), (∀ m', AgreeW W.cell S.vis β'.own m' β'.mem →
        WarpSafe S (ofElem β'.own) N (W.lanes fun l => K l (β'.reg l)) m') →
      ∀ m, AgreeW W.cell S.vis β.own m β.mem → WarpSafe S (ofElem β.own) N
        (W.lanes fun l => loopTree .fault (c.eval (W.place l).env) (body.tree (W.place l) fuel site) j (K l) (β.reg l)) m := by
    intro n; induction n with
    | zero =>
      intro k β hk hi; obtain rfl : k = N := by omega
      obtain ⟨h1, h2⟩ := hx β hi
      refine ⟨β, h2, 1, fun fuel j hf hj site S hS K N hK m hm => ?_⟩
      obtain ⟨j, rfl⟩ : ∃ i, j = i + 1 := ⟨j - 1, by omega⟩
      refine (hK m hm).congr (WarpCtx.lanes_congr fun l hl hv => ?_)
      simp only [loopTree, he, BExpr.eval_eq _ _ _ (h1 l hl hv).1, (h1 l hl hv).2, decide_false]
    | succ n ih =>
      intro k β hk hi
      obtain ⟨β1, h1, f1, h2⟩ := hb k β (by omega) hi
      obtain ⟨β', h3, f2, h4⟩ := ih (k + 1) β1 (by omega) h1
      refine ⟨β', h3, max f1 (f2 + 1), fun fuel j hf hj site S hS K N hK m hm => ?_⟩
      obtain ⟨j, rfl⟩ : ∃ i, j = i + 1 := ⟨j - 1, by omega⟩
      refine (h2 fuel (by omega) site S hS (fun l => loopTree .fault (c.eval (W.place l).env)
        (body.tree (W.place l) fuel site) j (K l)) N
        (fun m' ha => h4 fuel j (by omega) (by omega) site S hS K N hK m' ha) m hm).congr
        (WarpCtx.lanes_congr fun l hl hv => ?_)
      have := hc k β (by omega) hi l hl hv
      simp only [loopTree, he, BExpr.eval_eq _ _ _ this.1, this.2, decide_true]
  obtain ⟨β', h1, f0, h2⟩ := main N 0 β (by omega) h0
  exact ⟨β', h1, f0, fun fuel hf site S hS K N hK m hm => h2 fuel fuel hf hf site S hS K N hK m hm⟩

/-- When every lane stands, the warp is safe as soon as its next step is. -/
theorem WarpSafe.of_next {S : Scope Cell} {own : Nat → Int → Own (Ext R)} {N}
    {th : Nat → Tree Cell (Ext R)} {m : Heap Cell (Ext R)} {M : Mem R} (hm : AgreeW W.cell S.vis own m M)
    (hst : ∀ l, l < 32 → (th l).stands)
    (h : ∀ th' m', (∀ l, l < 32 → th' l = th l) → AgreeW W.cell S.vis own m' M →
      WNext N (fun o => WarpSafe S o N) (ofElem own) th' m') : WarpSafe S (ofElem own) N th m := by
  refine .fold ⟨fun l r mt => r = th l ∧ mt = m, fun l hl => ?_, fun th' m' H1 H2 => h th' m' ?_ ?_⟩
  · have hs := hst l hl
    show laneWp S (ofElem own) l (th l) (fun r mt => r = th l ∧ mt = m) m
    generalize th l = p at hs ⊢
    cases p <;> first | exact hs.elim | exact ⟨rfl, rfl⟩
  · intro l hl; obtain ⟨_, ⟨h, _⟩, _⟩ := H1 l hl; exact h
  · intro a i hv
    have hof : ofElem own (W.cell a i) = own a i := rfl
    refine ⟨fun hn => ?_, fun v ho hM => ?_⟩
    · rw [← (hm a i hv).1 hn]
      cases ho : own a i with
      | free => exact H2 _ hv (.inl (hof.trans ho))
      | lane l =>
        by_cases hl : l < 32
        · obtain ⟨mt, ⟨_, rfl⟩, h⟩ := H1 l hl
          exact ((h _ hv).1 (hof.trans ho)).symm
        · exact H2 _ hv (.inr ⟨l, hof.trans ho, by omega⟩)
      | same v => exact absurd ho (hn v)
    · obtain ⟨mt, ⟨_, rfl⟩, h⟩ := H1 0 (by omega)
      exact (h _ hv).2 v (hof.trans ho) ((hm a i hv).2 v ho hM)

/-- `__syncwarp`: every cell that may only take one value has been written, and owners may change. -/
theorem warp_sync (hsame : ∀ a i v, β.own a i = .same v → β.mem a i = some v)
    (own : Nat → Int → Own (Ext R)) (h : Q { β with own := own }) (hlive : ∃ l, l < 32 ∧ W.live l) :
    warpWp W .syncwarp Q β := by
  refine ⟨_, h, 0, fun fuel _ site S hS K N hK m hm => ?_⟩
  refine WarpSafe.of_next hm (fun l hl => ?_) (fun th' m' e ha => .inr (.inr ⟨site, W.lanes fun l => K l (β.reg l), ⟨?_, ?_⟩, _, hK m' ?_⟩))
  · simp only [WarpCtx.lanes]; split <;> trivial
  · intro l hl; rw [e l hl]; simp only [WarpCtx.lanes]; split
    · exact .inl rfl
    · exact .inr ⟨rfl, rfl⟩
  · obtain ⟨l, hl, hv⟩ := hlive
    refine ⟨l, hl, ?_⟩
    rw [e l hl]; simp only [WarpCtx.lanes, if_pos hv]; rfl
  · intro a i hv
    have key : m' (W.cell a i) = β.mem a i := by
      by_cases hs : ∃ v, β.own a i = .same v
      · obtain ⟨v, hs⟩ := hs
        rw [(ha a i hv).2 v hs (hsame a i v hs), hsame a i v hs]
      · exact (ha a i hv).1 (fun v h => hs ⟨v, h⟩)
    exact ⟨fun _ => key, fun v _ h => key.trans h⟩

/-- A shuffle: lane `l` receives the value of lane `src l`. -/
theorem warp_shfl {kind : ShflKind} {d s : Nat} {arg : IExpr} {width : Nat} (src : Nat → Nat)
    (hlive : ∀ l, l < 32 → W.live l)
    (harg : ∀ l, l < 32 → arg.ok (W.env l) (β.reg l) ∧
      kind.source width l (arg.val (W.env l) (β.reg l)) = some (src l) ∧ src l < 32)
    (h : Q { β with reg := fun l => (β.reg l).setR d ((β.reg (src l)).rv s) }) :
    warpWp W (.shfl kind d s arg width) Q β := by
  refine ⟨_, h, 0, fun fuel _ site S hS K N hK m hm => ?_⟩
  have he : ∀ l, l < 32 → W.lanes (fun l => Stmt.tree (W.place l) fuel (.shfl kind d s arg width) site (K l) (β.reg l)) l =
      .shfl site ((β.reg l).rv s) (fun xs => K l ((β.reg l).setR d (xs (src l)))) := by
    intro l hl
    have hp : (W.place l : Place R).env = W.env l := rfl
    have hq : (W.place l : Place R).lane = l := rfl
    simp only [WarpCtx.lanes, if_pos (hlive l hl), Stmt.tree, hp, hq, IExpr.eval_eq _ _ _ (harg l hl).1, (harg l hl).2.1]
  refine WarpSafe.of_next hm (fun l hl => by rw [he l hl]; trivial) (fun th' m' e ha => .inr (.inl
    ⟨site, fun l => (β.reg l).rv s, fun l xs => K l ((β.reg l).setR d (xs (src l))), fun l hl => by rw [e l hl, he l hl], ?_⟩))
  refine (hK m' ha).congr fun l hl => ?_
  simp only [WarpCtx.lanes, if_pos (hlive l hl), Nat.mod_eq_of_lt (harg l hl).2.2]

end KShell
