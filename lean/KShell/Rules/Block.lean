module

public import KShell.Rules.Run
public import KShell.Sound.Grid

/-!
# Rules for block code

`blockWp L gown b p Q β`: the warps of block `b` run `p` from `β` to a point where all of them have been
synchronised, keep the discipline, and end in `Q`. `kernelWp` is the same for the rest of a kernel, whose
last phase ends with the exit of the threads. The unit between two barriers is a phase: warp code with
one owner map of warps.
-/

@[expose] public section
noncomputable section
namespace KShell
open scoped Classical
set_option linter.unusedSectionVars false

variable {R : Type} [ExactReal R]

/-- State of a block at a barrier: registers by warp and lane, memory. -/
structure BSt (R : Type) where
  /-- Registers by warp and lane. -/
  reg : Nat → Nat → Reg R
  /-- Memory as the block sees it. -/
  mem : Mem R

/-- Registers of thread `t` of the block. -/
def BSt.thread (β : BSt R) (t : Nat) : Reg R := β.reg (t / 32) (t % 32)

theorem BSt.thread_eq (β : BSt R) {w l : Nat} (hl : l < 32) : β.thread (32 * w + l) = β.reg w l := by
  simp only [BSt.thread]
  rw [show (32 * w + l) / 32 = w by omega, show (32 * w + l) % 32 = l by omega]

/-- The owning block of a cell: a global cell has the block that `gown` says, a shared cell its own block;
no block owns what is not a cell of the launch. -/
def gownCell (L : Launch) (gown : Nat → Int → Option Nat) : Cell → Option Nat
  | (some b, a, _) => if L.space a = .shared then some b else some L.grid.count
  | (none, a, i) => if L.space a = .shared then some L.grid.count else gown a i

/-- What block `b` may rely on: its shared arrays, and global cells that no other block writes. -/
def blockVis (L : Launch) (gown : Nat → Int → Option Nat) (b a : Nat) (i : Int) : Prop :=
  L.space a = .shared ∨ gown a i = none ∨ gown a i = some b

/-- What block `b` may write: its shared arrays, and the global cells it owns. -/
def blockWr (L : Launch) (gown : Nat → Int → Option Nat) (b a : Nat) (i : Int) : Prop :=
  L.space a = .shared ∨ gown a i = some b

/-- Warp `w` of block `b` between two barriers with warp owners `wown`. -/
def warpCtx (L : Launch) (gown : Nat → Int → Option Nat) (b : Nat) (wown : Nat → Int → Option Nat) (w : Nat) :
    WarpCtx where
  launch := L
  block := b
  warp := w
  vis a i := blockVis L gown b a i ∧ (wown a i = none ∨ wown a i = some w)
  wr a i := blockWr L gown b a i ∧ wown a i = some w

/-- The heap shows block `b` the memory. -/
def AgreeB (L : Launch) (gown : Nat → Int → Option Nat) (b : Nat) (m : Heap Cell (Ext R)) (M : Mem R) : Prop :=
  ∀ a i, blockVis L gown b a i → m (L.cell b a i) = M a i

/-- The threads of a block; those beyond the block size have exited. -/
def Launch.threads (L : Launch) (f : Nat → Nat → Tree Cell (Ext R)) (w l : Nat) : Tree Cell (Ext R) :=
  if 32 * w + l < L.block.count then f w l else .ret

/-- A block is safe from here with suitable owners. -/
def Safe (L : Launch) (gown : Nat → Int → Option Nat) (b : Nat) (Post : Heap Cell (Ext R) → Prop)
    (th : Nat → Nat → Tree Cell (Ext R)) (m : Heap Cell (Ext R)) : Prop :=
  ∃ wown own, BlockSafe L.warps (bscope (gownCell L gown) b) Post wown own th m

/-- Block code: see the head of the file. -/
def blockWp (L : Launch) (gown : Nat → Int → Option Nat) (b : Nat) (p : Stmt) (Q : BSt R → Prop) (β : BSt R) :
    Prop :=
  ∃ β', Q β' ∧ ∃ f0, ∀ fuel, f0 ≤ fuel → ∀ (site : Nat) (K : Nat → Nat → Reg R → Tree Cell (Ext R)) (Post : Heap Cell (Ext R) → Prop),
    (∀ m', AgreeB L gown b m' β'.mem → Safe L gown b Post (L.threads fun w l => K w l (β'.reg w l)) m') →
    ∀ m, AgreeB L gown b m β.mem →
      Safe L gown b Post (L.threads fun w l => p.tree (L.place b w l) fuel site (K w l) (β.reg w l)) m

/-- The rest of a kernel: see the head of the file. -/
def kernelWp (L : Launch) (gown : Nat → Int → Option Nat) (b : Nat) (p : Stmt) (Q : Mem R → Prop) (β : BSt R) :
    Prop :=
  ∃ M', Q M' ∧ ∃ f0, ∀ fuel, f0 ≤ fuel → ∀ (site : Nat) m, AgreeB L gown b m β.mem →
    Safe L gown b (AgreeB L gown b · M')
      (L.threads fun w l => p.tree (L.place b w l) fuel site (fun _ => .ret) (β.reg w l)) m

variable {L : Launch} {gown : Nat → Int → Option Nat} {b : Nat} {Q : BSt R → Prop} {β : BSt R}

theorem Safe.congr {Post : Heap Cell (Ext R) → Prop} {f g : Nat → Nat → Tree Cell (Ext R)} {m : Heap Cell (Ext R)}
    (h : ∀ w l, l < 32 → 32 * w + l < L.block.count → g w l = f w l) (hs : Safe L gown b Post (L.threads f) m) :
    Safe L gown b Post (L.threads g) m := by
  obtain ⟨wown, own, hs⟩ := hs
  refine ⟨wown, own, hs.congr fun w l _ hl => ?_⟩
  simp only [Launch.threads]; split
  · next hv => exact h w l hl hv
  · rfl

theorem blockWp_mono {p : Stmt} {Q' : BSt R → Prop} (h : ∀ β, Q β → Q' β) :
    blockWp L gown b p Q β → blockWp L gown b p Q' β := fun ⟨β', h1, h2⟩ => ⟨β', h _ h1, h2⟩

/-- Nothing. -/
theorem block_skip (h : Q β) : blockWp L gown b .skip Q β :=
  ⟨β, h, 0, fun _ _ _ _ _ hK m hm => hK m hm⟩

/-- One after the other. -/
theorem block_seq {p q : Stmt} (h : blockWp L gown b p (blockWp L gown b q Q) β) :
    blockWp L gown b (.seq p q) Q β := by
  obtain ⟨β1, ⟨β', h3, f2, h4⟩, f1, h2⟩ := h
  exact ⟨β', h3, max f1 f2, fun fuel hf site K Post hK m hm =>
    h2 fuel (by omega) site (fun w l => q.tree (L.place b w l) fuel (site + p.sites) (K w l)) Post
      (fun m' ha => h4 fuel (by omega) (site + p.sites) K Post hK m' ha) m hm⟩

/-- Block code, then the rest of the kernel. -/
theorem kernel_seq {p q : Stmt} {Q : Mem R → Prop} (h : blockWp L gown b p (kernelWp L gown b q Q) β) :
    kernelWp L gown b (.seq p q) Q β := by
  obtain ⟨β1, ⟨M', h3, f2, h4⟩, f1, h2⟩ := h
  exact ⟨M', h3, max f1 f2, fun fuel hf site m hm =>
    h2 fuel (by omega) site (fun w l => q.tree (L.place b w l) fuel (site + p.sites) fun _ => .ret) _
      (fun m' ha => h4 fuel (by omega) (site + p.sites) m' ha) m hm⟩

/-- A conditional on which all threads of the block agree. -/
theorem block_ite {c : BExpr} {p q : Stmt}
    (ho : ∀ t : Nat, t < L.block.count → c.ok (L.env b t) (β.thread t))
    (h : ((∀ t : Nat, t < L.block.count → c.val (L.env b t) (β.thread t)) ∧ blockWp L gown b p Q β) ∨
      ((∀ t : Nat, t < L.block.count → ¬ c.val (L.env b t) (β.thread t)) ∧ blockWp L gown b q Q β)) :
    blockWp L gown b (.ite c p q) Q β := by
  have he : ∀ w l, (L.place b w l : Place R).env = L.env b (32 * w + l : Nat) := fun _ _ => rfl
  rcases h with ⟨hc, β', h1, f0, h2⟩ | ⟨hc, β', h1, f0, h2⟩
  · refine ⟨β', h1, f0, fun fuel hf site K Post hK m hm =>
      (h2 fuel hf site K Post hK m hm).congr fun w l hl hv => ?_⟩
    have h1 := ho _ hv; have h2 := hc _ hv
    rw [β.thread_eq hl] at h1 h2
    simp only [Stmt.tree, he, BExpr.eval_eq _ _ _ h1, h2, decide_true]
  · refine ⟨β', h1, f0, fun fuel hf site K Post hK m hm =>
      (h2 fuel hf (site + p.sites) K Post hK m hm).congr fun w l hl hv => ?_⟩
    have h1 := ho _ hv; have h2 := hc _ hv
    rw [β.thread_eq hl] at h1 h2
    simp only [Stmt.tree, he, BExpr.eval_eq _ _ _ h1, h2, decide_false]

/-- A loop of exactly `N` rounds, with barriers inside, on which all threads of the block agree. -/
theorem block_while {c : BExpr} {body : Stmt} (N : Nat) (I : Nat → BSt R → Prop) (h0 : I 0 β)
    (hc : ∀ k β, k < N → I k β → ∀ t : Nat, t < L.block.count →
      c.ok (L.env b t) (β.thread t) ∧ c.val (L.env b t) (β.thread t))
    (hb : ∀ k β, k < N → I k β → blockWp L gown b body (I (k + 1)) β)
    (hx : ∀ β, I N β → (∀ t : Nat, t < L.block.count →
      c.ok (L.env b t) (β.thread t) ∧ ¬ c.val (L.env b t) (β.thread t)) ∧ Q β) :
    blockWp L gown b (.while c body) Q β := by
  have he : ∀ w l, (L.place b w l : Place R).env = L.env b (32 * w + l : Nat) := fun _ _ => rfl
  have main : ∀ n k β, k + n = N → I k β → ∃ β', Q β' ∧ ∃ f0, ∀ fuel j, f0 ≤ fuel → f0 ≤ j →
      ∀ (site : Nat) (K : Nat → Nat → Reg R → Tree Cell (Ext R)) (Post : Heap Cell (Ext R) → Prop),
      (∀ m', AgreeB L gown b m' β'.mem → Safe L gown b Post (L.threads fun w l => K w l (β'.reg w l)) m') →
      ∀ m, AgreeB L gown b m β.mem → Safe L gown b Post (L.threads fun w l =>
        loopTree .fault (c.eval (L.place b w l).env) (body.tree (L.place b w l) fuel site) j (K w l) (β.reg w l)) m := by
    intro n; induction n with
    | zero =>
      intro k β hk hi; obtain rfl : k = N := by omega
      obtain ⟨h1, h2⟩ := hx β hi
      refine ⟨β, h2, 1, fun fuel j hf hj site K Post hK m hm => ?_⟩
      obtain ⟨j, rfl⟩ : ∃ i, j = i + 1 := ⟨j - 1, by omega⟩
      refine (hK m hm).congr fun w l hl hv => ?_
      have h1 := h1 _ hv
      rw [β.thread_eq hl] at h1
      simp only [loopTree, he, BExpr.eval_eq _ _ _ h1.1, h1.2, decide_false]
    | succ n ih =>
      intro k β hk hi
      obtain ⟨β1, h1, f1, h2⟩ := hb k β (by omega) hi
      obtain ⟨β', h3, f2, h4⟩ := ih (k + 1) β1 (by omega) h1
      refine ⟨β', h3, max f1 (f2 + 1), fun fuel j hf hj site K Post hK m hm => ?_⟩
      obtain ⟨j, rfl⟩ : ∃ i, j = i + 1 := ⟨j - 1, by omega⟩
      refine (h2 fuel (by omega) site (fun w l => loopTree .fault (c.eval (L.place b w l).env)
        (body.tree (L.place b w l) fuel site) j (K w l)) Post
        (fun m' ha => h4 fuel j (by omega) (by omega) site K Post hK m' ha) m hm).congr fun w l hl hv => ?_
      have h1 := hc k β (by omega) hi _ hv
      rw [β.thread_eq hl] at h1
      simp only [loopTree, he, BExpr.eval_eq _ _ _ h1.1, h1.2, decide_true]
  obtain ⟨β', h1, f0, h2⟩ := main N 0 β (by omega) h0
  exact ⟨β', h1, f0, fun fuel hf site K Post hK m hm => h2 fuel fuel hf hf site K Post hK m hm⟩

/-! ### Phases -/

/-- The merge of the final states of the warps of a phase. -/
def Merged (L : Launch) (wown : Nat → Int → Option Nat) (Ψ : Nat → WSt R → Prop) (β β' : BSt R) : Prop :=
  (∀ w, w < L.warps → ∃ σ, Ψ w σ ∧ (∀ l, l < 32 → β'.reg w l = σ.reg l) ∧
    ∀ a i, wown a i = some w → β'.mem a i = σ.mem a i) ∧
  ∀ a i, (∀ w, w < L.warps → wown a i ≠ some w) → β'.mem a i = β.mem a i

/-- The warps of a phase: each runs warp code `p` from the owners it likes, and has written every cell
that it declared to take one value. -/
def PhaseWarps (L : Launch) (gown : Nat → Int → Option Nat) (b : Nat) (wown : Nat → Int → Option Nat) (p : Stmt)
    (Ψ : Nat → WSt R → Prop) (β : BSt R) : Prop :=
  ∀ w, w < L.warps → ∃ own, warpWp (warpCtx L gown b wown w) p
    (fun σ => Ψ w σ ∧ ∀ a i v, σ.own a i = .same v → σ.mem a i = some v) ⟨β.reg w, β.mem, own⟩

theorem warpCtx_fits (wown : Nat → Int → Option Nat) (w : Nat) :
    (warpCtx L gown b wown w).Fits (wscope (bscope (gownCell L gown) b) (ofElem wown) w) ∨ L.grid.count ≤ b := by
  by_cases hb : b < L.grid.count
  · left
    have hvis : ∀ a i, blockVis L gown b a i → (bscope (gownCell L gown) b).vis (L.cell b a i) := by
      intro a i h
      by_cases hs : L.space a = .shared
      · simp [Launch.cell, hs, gownCell, bscope]
      · simpa [Launch.cell, hs, gownCell, bscope, blockVis] using h
    have hwr : ∀ a i, blockWr L gown b a i → (bscope (gownCell L gown) b).wr (L.cell b a i) := by
      intro a i h
      by_cases hs : L.space a = .shared
      · simp [Launch.cell, hs, gownCell, bscope]
      · simpa [Launch.cell, hs, gownCell, bscope, blockWr] using h
    refine ⟨fun a i h => ⟨hvis a i h.1, h.2⟩, fun a i h => ⟨hwr a i h.1, h.2⟩, ?_⟩
    rintro ⟨o, a, i⟩ ⟨h, _⟩
    refine ⟨a, i, ?_⟩
    simp only [warpCtx, WarpCtx.cell, Launch.cell]
    cases o with
    | none =>
      by_cases hs : L.space a = .shared
      · simp [bscope, gownCell, hs] at h; omega
      · simp [hs]
    | some b' =>
      by_cases hs : L.space a = .shared
      · simp [bscope, gownCell, hs] at h; simp [hs, h]
      · simp [bscope, gownCell, hs] at h; omega
  · exact .inr (by omega)

theorem blockVis_of_vis {a : Nat} {i : Int}
    (h : (bscope (gownCell L gown) b).vis (L.cell b a i)) : blockVis L gown b a i := by
  by_cases hs : L.space a = .shared
  · exact .inl hs
  · right; simpa [Launch.cell, hs, gownCell, bscope] using h

theorem warpCtx_lanes (wown : Nat → Int → Option Nat) (w : Nat) (f : Nat → Tree Cell (Ext R)) :
    (warpCtx L gown b wown w).lanes f = L.threads (fun _ => f) w := by
  funext l; simp only [WarpCtx.lanes, Launch.threads]
  by_cases h : 32 * w + l < L.block.count
  · rw [if_pos h, if_pos (show (warpCtx L gown b wown w).live l from h)]
  · rw [if_neg h, if_neg (show ¬ (warpCtx L gown b wown w).live l from h)]

/-- The heart of both phase rules: the warps run `p` and then stand in `K`. -/
theorem phase_core (hb : b < L.grid.count) {p : Stmt} (wown : Nat → Int → Option Nat) (Ψ : Nat → WSt R → Prop)
    (h1 : PhaseWarps L gown b wown p Ψ β) :
    ∃ β', Merged L wown Ψ β β' ∧ ∃ f0, ∀ fuel, f0 ≤ fuel → ∀ (site : Nat) (K : Nat → Nat → Reg R → Tree Cell (Ext R))
      (Post : Heap Cell (Ext R) → Prop), (∀ w l r, (K w l r).isEnd) →
      (∀ m' th, AgreeB L gown b m' β'.mem →
        (∀ w l, w < L.warps → l < 32 → th w l = L.threads (fun w l => K w l (β'.reg w l)) w l) →
        BNext L.warps Post (BlockSafe L.warps (bscope (gownCell L gown) b) Post) th m') →
      ∀ m, AgreeB L gown b m β.mem →
        Safe L gown b Post (L.threads fun w l => p.tree (L.place b w l) fuel site (K w l) (β.reg w l)) m := by
  have hfit := fun w => (warpCtx_fits (L := L) (gown := gown) (b := b) wown w).resolve_right (by omega)
  have hex : ∀ w : Nat, ∃ x : WSt R × (Nat → Int → Own (Ext R)), w < L.warps →
      (Ψ w x.1 ∧ ∀ a i v, x.1.own a i = .same v → x.1.mem a i = some v) ∧ ∃ f0, ∀ fuel, f0 ≤ fuel → ∀ site (S : Scope Cell),
      (warpCtx L gown b wown w).Fits S → ∀ (K : Nat → Reg R → Tree Cell (Ext R)) (N : (Nat → Tree Cell (Ext R)) → Heap Cell (Ext R) → Prop),
      (∀ m', AgreeW (L.cell b) S.vis x.1.own m' x.1.mem → WarpSafe S (ofElem x.1.own) N
        ((warpCtx L gown b wown w).lanes fun l => K l (x.1.reg l)) m') →
      ∀ m, AgreeW (L.cell b) S.vis x.2 m β.mem → WarpSafe S (ofElem x.2) N
        ((warpCtx L gown b wown w).lanes fun l => p.tree (L.place b w l) fuel site (K l) (β.reg w l)) m := by
    intro w
    by_cases hw : w < L.warps
    · obtain ⟨own, σ, h2, h3⟩ := h1 w hw
      exact ⟨(σ, own), fun _ => ⟨h2, h3⟩⟩
    · exact ⟨(⟨β.reg w, β.mem, fun _ _ => .free⟩, fun _ _ => .free), fun h => absurd h hw⟩
  obtain ⟨x, hx⟩ := Classical.axiomOfChoice hex
  obtain ⟨f0, hf⟩ := exists_bound L.warps _ (fun w hw => (hx w hw).2)
  let M' : Mem R := fun a i =>
    match wown a i with
    | some w => if w < L.warps then (x w).1.mem a i else β.mem a i
    | none => β.mem a i
  have hMin : ∀ a i w, wown a i = some w → w < L.warps → M' a i = (x w).1.mem a i := by
    intro a i w ho hw; simp only [M', ho]; exact if_pos hw
  have hMout : ∀ a i, (∀ w, w < L.warps → wown a i ≠ some w) → M' a i = β.mem a i := by
    intro a i ho; simp only [M']; split
    · next w e => exact if_neg fun hw => ho w hw e
    · rfl
  clear_value M'
  refine ⟨⟨fun w l => (x w).1.reg l, M'⟩, ⟨fun w hw => ⟨(x w).1, (hx w hw).1.1, fun _ _ => rfl, fun a i ho => hMin a i w ho hw⟩, hMout⟩,
    f0, fun fuel hfu site K Post hend hK m hm => ?_⟩
  refine ⟨ofElem wown, fun w => ofElem (x w).2, .fold ⟨fun w th mt =>
    (∀ l, l < 32 → th l = L.threads (fun w l => K w l ((x w).1.reg l)) w l) ∧
    ∀ a i, (wscope (bscope (gownCell L gown) b) (ofElem wown) w).vis (L.cell b a i) → mt (L.cell b a i) = (x w).1.mem a i, ?_, ?_⟩⟩
  · intro w hw
    refine WarpSafe.congr (th := (warpCtx L gown b wown w).lanes fun l =>
      p.tree (L.place b w l) fuel site (K w l) (β.reg w l)) (fun l _ => by rw [warpCtx_lanes]; rfl)
      (hf w hw fuel hfu site _ (hfit w) (K w) _ (fun m' ha => ?_) m (fun a i hv => ?_))
    · refine WarpSafe.of_next (W := warpCtx L gown b wown w) ha (fun l hl => ?_) (fun th' m2 e ha2 => .inl ⟨fun l hl => ?_, fun l hl => ?_, fun a i hv => ?_⟩)
      · simp only [WarpCtx.lanes]; split
        · have := hend w l ((x w).1.reg l); revert this
          cases K w l ((x w).1.reg l) <;> simp [Tree.isEnd, Tree.stands]
        · trivial
      · rw [e l hl]; simp only [WarpCtx.lanes]; split
        · exact hend w l _
        · trivial
      · rw [e l hl, warpCtx_lanes]; rfl
      · by_cases hs : ∃ v, (x w).1.own a i = .same v
        · obtain ⟨v, hs⟩ := hs
          have hv' := (hx w hw).1.2 a i v hs
          rw [hv']; exact (ha2 a i hv).2 v hs hv'
        · exact (ha2 a i hv).1 (fun v h => hs ⟨v, h⟩)
    · have := hm a i (blockVis_of_vis hv.1)
      exact ⟨fun _ => this, fun _ _ h => this.trans h⟩
  · intro th' m' H1 H2
    refine hK m' th' (fun a i hv => ?_) (fun w l hw hl => ?_)
    · have hvis : (bscope (gownCell L gown) b).vis (L.cell b a i) := by
        by_cases hs : L.space a = .shared
        · simp [Launch.cell, hs, gownCell, bscope]
        · simpa [Launch.cell, hs, gownCell, bscope, blockVis] using hv
      by_cases ho : ∃ w, w < L.warps ∧ wown a i = some w
      · obtain ⟨w, hw, ho⟩ := ho
        obtain ⟨mt, ⟨_, h3⟩, h4⟩ := H1 w hw
        rw [h4 _ hvis ho, h3 a i ⟨hvis, .inr ho⟩]; exact (hMin a i w ho hw).symm
      · have ho' : ∀ w, w < L.warps → wown a i ≠ some w := fun w hw e => ho ⟨w, hw, e⟩
        rw [H2 _ hvis ho', hm a i hv]; exact (hMout a i ho').symm
    · obtain ⟨mt, ⟨h3, _⟩, _⟩ := H1 w hw; exact h3 l hl

/-- The phase rule: warp code up to a `__syncthreads`. -/
theorem block_phase (hb : b < L.grid.count) (hn : 0 < L.block.count) {p : Stmt} (wown : Nat → Int → Option Nat)
    (Ψ : Nat → WSt R → Prop) (h1 : PhaseWarps L gown b wown p Ψ β) (h2 : ∀ β', Merged L wown Ψ β β' → Q β') :
    blockWp L gown b (.seq p .barrier) Q β := by
  obtain ⟨β', hm, f0, h3⟩ := phase_core hb wown Ψ h1
  refine ⟨β', h2 _ hm, f0, fun fuel hf site K Post hK m ha => ?_⟩
  refine h3 fuel hf site (fun w l r => .bar (site + p.sites) (K w l r)) Post (fun _ _ _ => trivial) (fun m' th ha' e => .inr ?_) m ha
  obtain ⟨wo, o, hs⟩ := hK m' ha'
  refine ⟨site + p.sites, L.threads fun w l => K w l (β'.reg w l), ⟨fun w l hw hl => ?_, 0, 0, ?_, by omega, ?_⟩, wo, o, hs⟩
  · rw [e w l hw hl]; simp only [Launch.threads]; split
    · exact .inl rfl
    · exact .inr ⟨rfl, rfl⟩
  · simp only [Launch.warps]; omega
  · rw [e 0 0 (by simp only [Launch.warps]; omega) (by omega)]
    simp only [Launch.threads]; rw [if_pos (by omega), if_pos (by omega)]

/-- The last phase: warp code up to the end of the kernel. -/
theorem kernel_phase (hb : b < L.grid.count) {p : Stmt} {Q : Mem R → Prop} (wown : Nat → Int → Option Nat)
    (Ψ : Nat → WSt R → Prop) (h1 : PhaseWarps L gown b wown p Ψ β) (h2 : ∀ β', Merged L wown Ψ β β' → Q β'.mem) :
    kernelWp L gown b p Q β := by
  obtain ⟨β', hm, f0, h3⟩ := phase_core hb wown Ψ h1
  refine ⟨β'.mem, h2 _ hm, f0, fun fuel hf site m ha => ?_⟩
  refine h3 fuel hf site (fun _ _ _ => .ret) _ (fun _ _ _ => trivial) (fun m' th ha' e => .inl ⟨fun w l hw hl => ?_, ha'⟩) m ha
  rw [e w l hw hl]; simp only [Launch.threads]; split <;> rfl

/-- The tree of a sequence does not depend on how it is bracketed. -/
theorem tree_assoc (P : Place R) (fuel : Nat) (p q r : Stmt) (n : Nat) (k : Reg R → Tree Cell (Ext R)) :
    (Stmt.seq (.seq p q) r).tree P fuel n k = (Stmt.seq p (.seq q r)).tree P fuel n k := by
  funext x; simp only [Stmt.tree, Stmt.sites, Nat.add_assoc]

/-- A list of statements, one after the other. Flat code is definitionally of this form, and the lemmas
below cut it at a barrier. -/
def Stmt.seqs : List Stmt → Stmt
  | [] => .skip
  | [a] => a
  | a :: b :: l => .seq a (Stmt.seqs (b :: l))

theorem sites_seqs_append (l1 l2 : List Stmt) :
    (Stmt.seqs (l1 ++ l2)).sites = (Stmt.seqs l1).sites + (Stmt.seqs l2).sites := by
  match l1 with
  | [] => simp [Stmt.seqs, Stmt.sites]
  | [a] => cases l2 <;> simp [Stmt.seqs, Stmt.sites]
  | a :: b :: l =>
    have := sites_seqs_append (b :: l) l2
    simp only [List.cons_append] at this ⊢
    simp only [Stmt.seqs, Stmt.sites, this, Nat.add_assoc]

theorem tree_seqs_append (P : Place R) (fuel : Nat) (l1 l2 : List Stmt) (n : Nat) (k : Reg R → Tree Cell (Ext R)) :
    (Stmt.seqs (l1 ++ l2)).tree P fuel n k = (Stmt.seq (Stmt.seqs l1) (Stmt.seqs l2)).tree P fuel n k := by
  match l1 with
  | [] => funext r; simp [Stmt.seqs, Stmt.tree, Stmt.sites]
  | [a] =>
    cases l2 with
    | nil =>
      funext r; simp only [List.append_nil, Stmt.seqs, Stmt.tree]
    | cons c l => rfl
  | a :: b :: l =>
    have := fun n => tree_seqs_append P fuel (b :: l) l2 n k
    funext r
    simp only [List.cons_append] at this ⊢
    simp only [Stmt.seqs, Stmt.tree, Stmt.sites, this, Nat.add_assoc]

theorem tree_cut (P : Place R) (fuel : Nat) (l1 l2 : List Stmt) (c : Stmt) (n : Nat) (k : Reg R → Tree Cell (Ext R)) :
    (Stmt.seqs (l1 ++ c :: l2)).tree P fuel n k =
      (Stmt.seq (.seq (Stmt.seqs l1) c) (Stmt.seqs l2)).tree P fuel n k := by
  rw [tree_seqs_append, tree_assoc]
  cases l2 with
  | nil => funext r; simp only [Stmt.seqs, Stmt.tree]
  | cons d l => rfl

/-- Cut the rest of a kernel behind statement `c`, usually a barrier. -/
theorem kernel_cut (l1 l2 : List Stmt) {c : Stmt} {Q : Mem R → Prop}
    (h : kernelWp L gown b (.seq (.seq (Stmt.seqs l1) c) (Stmt.seqs l2)) Q β) :
    kernelWp L gown b (Stmt.seqs (l1 ++ c :: l2)) Q β := by
  simpa only [kernelWp, tree_cut] using h

/-- Cut block code behind statement `c`, usually a barrier. -/
theorem block_cut (l1 l2 : List Stmt) {c : Stmt}
    (h : blockWp L gown b (.seq (.seq (Stmt.seqs l1) c) (Stmt.seqs l2)) Q β) :
    blockWp L gown b (Stmt.seqs (l1 ++ c :: l2)) Q β := by
  simpa only [blockWp, tree_cut] using h

theorem kernel_assoc {p q r : Stmt} {Q : Mem R → Prop} (h : kernelWp L gown b (.seq (.seq p q) r) Q β) :
    kernelWp L gown b (.seq p (.seq q r)) Q β := by
  simpa only [kernelWp, tree_assoc] using h

theorem block_assoc {p q r : Stmt} (h : blockWp L gown b (.seq (.seq p q) r) Q β) :
    blockWp L gown b (.seq p (.seq q r)) Q β := by
  simpa only [blockWp, tree_assoc] using h

end KShell
