module

public import KShell.Auto.Thread
public import KShell.Rules.Grid
public import KShell.Rules.Uniform

/-!
# Lemmas the automatic prover uses on kernels with barriers

A kernel is a sequence of pieces: phases (thread code up to a barrier), silent code (assignments of
registers), loops on which all threads agree, and a last phase. `Each L A β` says that every thread of
the block is in a state that satisfies its assertion; the rules lead from one such state to the next.
-/

@[expose] public section
noncomputable section
namespace KShell.Auto
open scoped Classical
set_option linter.unusedSectionVars false

variable {R : Type} [ExactReal R]

/-- The cells of array `a` that satisfy `p` hold `x`. -/
def On (m : Mem R) (a : Nat) (p : Int → Prop) (x : Int → Ext R) : Prop := ∀ i, p i → m a i = some (x i)

section memory
variable {m m' : Mem R} {a b : Nat} {j : Int} {p q : Int → Prop} {x y : Int → Ext R} {v w : Ext R}

theorem On.read (h : On m a p x) (hp : p j) (hx : x j = v) : m a j = some v := by rw [h j hp, hx]

theorem On.other (h : On m a p x) (hab : a ≠ b) : On (m.set b j v) a p x :=
  fun i hi => (Mem.set_arr hab).trans (h i hi)

/-- A store of the value that cell `j` is to hold. -/
theorem On.put (h : On m a p x) (hv : v = x j) (hq : ∀ i, q i → p i ∨ i = j) : On (m.set a j v) a q x := by
  intro i hi
  by_cases e : i = j
  · subst e; rw [Mem.set_same rfl, hv]
  · rw [Mem.set_ne e]; exact h i ((hq i hi).resolve_right e)

/-- The first store. -/
theorem On.first (hv : v = x j) (hq : ∀ i, q i → i = j) : On (m.set a j v) a q x := by
  intro i hi
  have e := hq i hi
  subst e; rw [Mem.set_same rfl, hv]

/-- A store outside. -/
theorem On.keep (h : On m a p x) (hq : ∀ i, q i → p i ∧ ¬ i = j) : On (m.set a j v) a q x := by
  intro i hi
  have ⟨h1, h2⟩ := hq i hi
  rw [Mem.set_ne h2]; exact h i h1

theorem On.weaken (h : On m a p x) (hq : ∀ i, q i → p i) : On m a q x := fun i hi => h i (hq i hi)

theorem On.none (hq : ∀ i, ¬ q i) : On m a q x := fun i hi => absurd hi (hq i)

theorem On.same (h : On m a p x) (hm : ∀ i, p i → m' a i = m a i) : On m' a p x :=
  fun i hi => (hm i hi).trans (h i hi)

theorem On.value (h : On m a p x) (hq : ∀ i, q i → p i) (hx : ∀ i, q i → x i = y i) : On m a q y :=
  fun i hi => (h i (hq i hi)).trans (congrArg some (hx i hi))

theorem Holds.same {n : Int} {x : Int → R} (h : Holds m a n x) (hm : ∀ i, m' a i = m a i) : Holds m' a n x :=
  fun i h0 h1 => (hm i).trans (h i h0 h1)

end memory

/-! ### Pieces of code -/

/-- One piece of code after the other, bracketed to the right like the code of a kernel. -/
def app : Stmt → Stmt → Stmt
  | .skip, q => q
  | .seq a b, q => .seq a (app b q)
  | p, q => .seq p q

theorem tree_app (P : Place R) (fuel : Nat) (p q : Stmt) :
    ∀ n (k : Reg R → Tree Cell (Ext R)), (app p q).tree P fuel n k = (Stmt.seq p q).tree P fuel n k := by
  induction p with
  | seq a b _ ih =>
    intro n k; funext r
    simp only [app, Stmt.tree]
    have h : (fun k => (app b q).tree P fuel (n + a.sites) k) = fun k => (Stmt.seq b q).tree P fuel (n + a.sites) k := by
      funext k; exact ih _ k
    rw [congrFun h k]
    simp only [Stmt.tree, Stmt.sites, Nat.add_assoc]
  | skip => intro n k; funext r; simp only [app, Stmt.tree, Stmt.sites, Nat.add_zero]
  | _ => intro n k; rfl

/-- Code that only assigns registers. -/
def silent : Stmt → Prop
  | .skip | .seti _ _ | .setr _ _ => True
  | .seq a b => silent a ∧ silent b
  | _ => False

theorem silent_tree {W : Place R} {P : Perm R} (p : Stmt) : silent p → ∀ {Q : St R → Prop} {r : Reg R} {m : Mem R},
    p.wp W.env P Q ⟨r, m⟩ → ∃ r', Q ⟨r', m⟩ ∧ ∀ fuel n (k : Reg R → Tree Cell (Ext R)), p.tree W fuel n k r = k r' := by
  induction p with
  | skip => intro _ Q r m h; exact ⟨r, h, fun _ _ _ => rfl⟩
  | seti v e =>
    intro _ Q r m ⟨h1, h2⟩
    exact ⟨_, h2, fun _ _ _ => by simp only [Stmt.tree, IExpr.eval_eq _ _ _ h1]⟩
  | setr v e =>
    intro _ Q r m ⟨h1, h2⟩
    exact ⟨_, h2, fun _ _ _ => by simp only [Stmt.tree, RExpr.eval_eq _ _ _ h1]⟩
  | seq a b iha ihb =>
    intro ⟨ha, hb⟩ Q r m h
    obtain ⟨r1, h1, h2⟩ := iha ha h
    obtain ⟨r2, h3, h4⟩ := ihb hb h1
    exact ⟨r2, h3, fun fuel n k => by simp only [Stmt.tree]; rw [h2, h4]⟩
  | _ => intro h; exact absurd h (by simp [silent])

/-! ### Blocks -/

/-- Every thread of the block is in a state that satisfies its assertion. -/
def Each (L : Launch) (A : Nat → St R → Prop) (β : BSt R) : Prop :=
  ∀ t : Nat, t < L.block.count → A t ⟨β.thread t, β.mem⟩

variable {L : Launch} {gown : Nat → Int → Option Nat} {b : Nat} {β : BSt R} {A B C : Nat → St R → Prop}
  {own : Nat → Int → Option Nat} {p q : Stmt}

/-- What one symbolic thread of a phase proves. -/
def Runs (L : Launch) (gown : Nat → Int → Option Nat) (b : Nat) (own : Nat → Int → Option Nat) (A : Nat → St R → Prop) (p : Stmt)
    (B : Nat → St R → Prop) : Prop :=
  ∀ t : Nat, t < L.block.count → ∀ σ, A t σ → p.wp (L.env b t) (threadPerm L gown b own t) (B t) σ

/-- A phase up to a barrier. -/
theorem each_phase (hb : b < L.grid.count) (hn : 0 < L.block.count) (h0 : Each L A β) (h1 : Runs L gown b own A p B)
    (h2 : ∀ β', AfterPhase L own B β β' → Each L C β') : blockWp L gown b (.seq p .barrier) (Each L C) β :=
  block_phase_threads hb hn own B (fun t ht => h1 t ht _ (h0 t ht)) h2

/-- Silent code. -/
theorem each_silent (hp : silent p) (h0 : Each L A β) (h1 : Runs L gown b own A p B) :
    blockWp L gown b p (Each L B) β := by
  have hex : ∀ t : Nat, ∃ r : Reg R, t < L.block.count → B t ⟨r, β.mem⟩ ∧
      ∀ fuel n (k : Reg R → Tree Cell (Ext R)), p.tree (L.place b (t / 32) (t % 32)) fuel n k (β.thread t) = k r := by
    intro t
    by_cases ht : t < L.block.count
    · have h := h1 t ht _ (h0 t ht)
      have e : (L.place b (t / 32) (t % 32) : Place R).env = L.env b t := by
        show L.env (b : Int) ((32 * (t / 32) + t % 32 : Nat) : Int) = _
        rw [show 32 * (t / 32) + t % 32 = t by omega]
      rw [← e] at h
      obtain ⟨r, h2, h3⟩ := silent_tree p hp h
      exact ⟨r, fun _ => ⟨h2, h3⟩⟩
    · exact ⟨β.thread t, fun h => absurd h ht⟩
  obtain ⟨r, hr⟩ := Classical.axiomOfChoice hex
  refine ⟨⟨fun w l => r (32 * w + l), β.mem⟩, fun t ht => ?_, 0, fun fuel _ site K Post hK m hm => ?_⟩
  · have e : 32 * (t / 32) + t % 32 = t := by omega
    simp only [BSt.thread, e]; exact (hr t ht).1
  · refine (hK m hm).congr fun w l hl hv => ?_
    have h := (hr _ hv).2 fuel site (K w l)
    rw [β.thread_eq hl] at h
    have e1 : (32 * w + l) / 32 = w := by omega
    have e2 : (32 * w + l) % 32 = l := by omega
    rw [e1, e2] at h
    exact h

/-- The last phase of a kernel. -/
theorem each_last {Q : Mem R → Prop} (hb : b < L.grid.count) (h0 : Each L A β) (h1 : Runs L gown b own A p B)
    (h2 : ∀ β', AfterPhase L own B β β' → Q β'.mem) : kernelWp L gown b p Q β :=
  kernel_phase_threads hb own B (fun t ht => h1 t ht _ (h0 t ht)) h2

theorem kernel_app {Q : Mem R → Prop} (h : kernelWp L gown b (.seq p q) Q β) : kernelWp L gown b (app p q) Q β := by
  simpa only [kernelWp, tree_app] using h

theorem block_app {Q : BSt R → Prop} (h : blockWp L gown b (.seq p q) Q β) : blockWp L gown b (app p q) Q β := by
  simpa only [blockWp, tree_app] using h

/-- A piece, then the rest of the kernel. -/
theorem kernel_then {Q : Mem R → Prop} (h : blockWp L gown b p (Each L A) β)
    (k : ∀ β, Each L A β → kernelWp L gown b q Q β) : kernelWp L gown b (app p q) Q β :=
  kernel_app (kernel_seq (blockWp_mono k h))

/-- A piece, then more block code. -/
theorem block_then {Q : BSt R → Prop} (h : blockWp L gown b p (Each L A) β)
    (k : ∀ β, Each L A β → blockWp L gown b q Q β) : blockWp L gown b (app p q) Q β :=
  block_app (block_seq (blockWp_mono k h))

/-- A loop, then the rest of the kernel. -/
theorem kernel_loop_then {Q : Mem R → Prop} (h : blockWp L gown b p (Each L A) β)
    (k : ∀ β, Each L A β → kernelWp L gown b q Q β) : kernelWp L gown b (.seq p q) Q β :=
  kernel_seq (blockWp_mono k h)

/-- A loop, then more block code. -/
theorem block_loop_then {Q : BSt R → Prop} (h : blockWp L gown b p (Each L A) β)
    (k : ∀ β, Each L A β → blockWp L gown b q Q β) : blockWp L gown b (.seq p q) Q β :=
  block_seq (blockWp_mono k h)

/-- A phase and its barrier, then the rest of the kernel. -/
theorem kernel_phase_then {Q : Mem R → Prop} (h : blockWp L gown b (.seq p .barrier) (Each L A) β)
    (k : ∀ β, Each L A β → kernelWp L gown b q Q β) : kernelWp L gown b (app p (.seq .barrier q)) Q β :=
  kernel_app (kernel_assoc (kernel_seq (blockWp_mono k h)))

/-- A phase and its barrier, then more block code. -/
theorem block_phase_then {Q : BSt R → Prop} (h : blockWp L gown b (.seq p .barrier) (Each L A) β)
    (k : ∀ β, Each L A β → blockWp L gown b q Q β) : blockWp L gown b (app p (.seq .barrier q)) Q β :=
  block_app (block_assoc (block_seq (blockWp_mono k h)))

/-- The last phase of block code ends with its barrier. -/
theorem block_phase_end {Q : BSt R → Prop} (h : blockWp L gown b (.seq p .barrier) (Each L A) β)
    (k : ∀ β, Each L A β → Q β) : blockWp L gown b (app p .barrier) Q β :=
  block_app (blockWp_mono k h)

/-- A cell of a phase is as its owner left it. -/
theorem _root_.KShell.AfterPhase.written {β' : BSt R} {t a : Nat} {i : Int} {v : Ext R} (h : AfterPhase L own B β β')
    (ht : t < L.block.count) (ho : own a i = some t) (hv : ∀ σ, B t σ → σ.mem a i = some v) : β'.mem a i = some v := by
  obtain ⟨σ, h1, _, h2⟩ := h.1 t ht
  rw [h2 a i ho, hv σ h1]

/-- A cell that nobody owns. -/
theorem _root_.KShell.AfterPhase.kept {β' : BSt R} {a : Nat} {i : Int} (h : AfterPhase L own B β β') (ho : own a i = none) :
    β'.mem a i = β.mem a i :=
  h.2 a i fun t _ => by rw [ho]; simp

/-- A block finds the global arrays as they are. -/
theorem initial_global {M : Mem R} {a : Nat} {i : Int} (hs : L.space a ≠ .shared) : L.initial M a i = M a i :=
  if_neg hs

section permission
variable {t a : Nat} {i : Int} {v : Ext R}

theorem rd_free (hv : L.space a = .shared ∨ gown a i = none) (ho : own a i = none) :
    (threadPerm L gown b own t : Perm R).rd a i :=
  ⟨hv.elim .inl fun h => .inr (.inl h), .inl ho⟩

theorem rd_own (hv : L.space a = .shared ∨ gown a i = some b) (ho : own a i = some t) :
    (threadPerm L gown b own t : Perm R).rd a i :=
  ⟨hv.elim .inl fun h => .inr (.inr h), .inr ho⟩

theorem wr_own (hv : L.space a = .shared ∨ gown a i = some b) (ho : own a i = some t) :
    (threadPerm L gown b own t : Perm R).wr a i v := ⟨hv, ho⟩

end permission

end KShell.Auto
