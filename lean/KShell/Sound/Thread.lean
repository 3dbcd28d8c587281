module

public import KShell.Meaning
public import KShell.Rules.Thread
public import KShell.Sound.Lane

/-!
# Soundness of the weakest precondition of thread code

`Stmt.sound`: code that satisfies its weakest precondition has a tree that keeps the discipline.
-/

@[expose] public section
noncomputable section
namespace KShell
open scoped Classical

set_option linter.unusedSectionVars false

variable {R : Type} [ExactReal R]

/-- An invariant of the memory that every permitted store keeps holds at the end. -/
theorem Stmt.wp_inv (E : Env R) {P : Perm R} {J : Mem R → Prop}
    (hJ : ∀ m a i x, J m → P.wr a i x → J (Mem.set m a i x)) (p : Stmt) :
    ∀ {Q : St R → Prop} s, J s.mem → p.wp E P Q s → p.wp E P (fun σ => Q σ ∧ J σ.mem) s := by
  induction p with
  | skip => intro Q s h hq; exact ⟨hq, h⟩
  | seq a b iha ihb =>
    intro Q s h hq
    exact Stmt.wp_mono E P a s (fun s' ⟨h1, h2⟩ => ihb s' h2 h1) (iha s h hq)
  | seti v e => intro Q s h ⟨a, b⟩; exact ⟨a, b, h⟩
  | setr v e => intro Q s h ⟨a, b⟩; exact ⟨a, b, h⟩
  | load v a i => intro Q s h ⟨a, b, c, x, d, e⟩; exact ⟨a, b, c, x, d, e, h⟩
  | store a i e => intro Q s h ⟨a, b, c, d, e⟩; exact ⟨a, b, c, d, e, hJ _ _ _ _ h d⟩
  | lload v a i => intro Q s h ⟨a, b, x, d, e⟩; exact ⟨a, b, x, d, e, h⟩
  | lstore a i e => intro Q s h ⟨a, b, c, e⟩; exact ⟨a, b, c, e, h⟩
  | ite c a b iha ihb =>
    intro Q s h ⟨h1, h2, h3⟩
    exact ⟨h1, fun hc => iha s h (h2 hc), fun hc => ihb s h (h3 hc)⟩
  | «while» c body ih =>
    intro Q s h ⟨n, hn⟩
    refine ⟨n, ?_⟩
    have main : ∀ n s, J s.mem → whileN (fun s => c.ok E s.reg) (fun s => c.val E s.reg) (body.wp E P) n Q s →
        whileN (fun s => c.ok E s.reg) (fun s => c.val E s.reg) (body.wp E P) n (fun σ => Q σ ∧ J σ.mem) s := by
      intro n; induction n with
      | zero => intro s _ h; exact h
      | succ n ihn =>
        intro s hj ⟨h1, h2, h3⟩
        exact ⟨h1, fun hv => Stmt.wp_mono E P body s (fun s' ⟨g1, g2⟩ => ihn s' g2 g1) (ih s hj (h2 hv)),
          fun hv => ⟨h3 hv, hj⟩⟩
    exact main n s h hn
  | check c => intro Q s h ⟨a, b, d⟩; exact ⟨a, b, d, h⟩
  | barrier | syncwarp => intro Q s _ h; exact h
  | shfl => intro Q s _ h; exact h

/-- The heap `m` shows lane `t` the memory `M`: equal on cells the lane may read; a cell that may only
take the value `v` holds it in `m` when it does in `M`. -/
def AgreeL (cell : Nat → Int → Cell) (vis : Cell → Prop) (own : Cell → Own (Ext R)) (t : Nat)
    (m : Heap Cell (Ext R)) (M : Mem R) : Prop :=
  ∀ a i, vis (cell a i) →
    (own (cell a i) = .free ∨ own (cell a i) = .lane t → m (cell a i) = M a i) ∧
    (∀ v, own (cell a i) = .same v → M a i = some v → m (cell a i) = some v)

theorem AgreeL.set {P : Place R} {vis own t} {m : Heap Cell (Ext R)} {M : Mem R}
    (h : AgreeL P.cell vis own t m M) (a i x) :
    AgreeL P.cell vis own t (m.set (P.cell a i) x) (Mem.set M a i x) := by
  intro a' i' hv
  simp only [Heap.set, Mem.set]
  by_cases e : a' = a ∧ i' = i
  · rw [if_pos e, e.1, e.2, if_pos rfl]; exact ⟨fun _ => rfl, fun _ _ h => h⟩
  · rw [if_neg e, if_neg]
    · exact h a' i' hv
    · intro h; simp only [Place.cell, Prod.mk.injEq] at h; exact e ⟨h.2.1, h.2.2⟩

/-- Weakest preconditions of thread code are sound: some final state `σ` satisfies the post, and with
enough fuel the tree of the code keeps the discipline up to its continuation in `σ`. -/
theorem Stmt.sound (P : Place R) (t : Nat) (Pm : Perm R) (p : Stmt) :
    ∀ (Q : St R → Prop) s, p.wp P.env Pm Q s → ∃ σ, Q σ ∧ ∃ f0, ∀ fuel, f0 ≤ fuel → ∀ (site : Nat)
      (Sc : Scope Cell) (own : Cell → Own (Ext R)),
      (∀ a i, Pm.rd a i →
        Sc.vis (P.cell a i) ∧ (own (P.cell a i) = .free ∨ own (P.cell a i) = .lane t)) →
      (∀ a i x, Pm.wr a i x →
        Sc.wr (P.cell a i) ∧ (own (P.cell a i) = .lane t ∨ own (P.cell a i) = .same x)) →
      ∀ (K : Reg R → Tree Cell (Ext R)) Q' m, AgreeL P.cell Sc.vis own t m s.mem →
      (∀ m', AgreeL P.cell Sc.vis own t m' σ.mem → laneWp Sc own t (K σ.reg) Q' m') →
      laneWp Sc own t (p.tree P fuel site K s.reg) Q' m := by
  induction p with
  | skip => intro Q s h; exact ⟨s, h, 0, fun _ _ _ Sc own hrd hwr K Q' m ha h => h m ha⟩
  | seq p q iha ihb =>
    intro Q s h
    obtain ⟨σ1, h1, f1, h2⟩ := iha _ s h
    obtain ⟨σ, h3, f2, h4⟩ := ihb _ σ1 h1
    exact ⟨σ, h3, max f1 f2, fun fuel hf site Sc own hrd hwr K Q' m ha hk =>
      h2 fuel (by omega) _ Sc own hrd hwr _ _ m ha
        (fun m' ha' => h4 fuel (by omega) _ Sc own hrd hwr K Q' m' ha' hk)⟩
  | seti v e =>
    intro Q s ⟨h1, h2⟩
    exact ⟨_, h2, 0, fun _ _ _ Sc own hrd hwr K Q' m ha h => by
      simp only [Stmt.tree, IExpr.eval_eq _ _ _ h1]; exact h m ha⟩
  | setr v e =>
    intro Q s ⟨h1, h2⟩
    exact ⟨_, h2, 0, fun _ _ _ Sc own hrd hwr K Q' m ha h => by
      simp only [Stmt.tree, RExpr.eval_eq _ _ _ h1]; exact h m ha⟩
  | load v a i =>
    intro Q s ⟨h1, h2, h3, x, h4, h5⟩
    refine ⟨_, h5, 0, fun _ _ _ Sc own hrd hwr K Q' m ha h => ?_⟩
    simp only [Stmt.tree, IExpr.eval_eq _ _ _ h1]
    rw [if_pos (show P.inBounds a _ from h2)]
    have ⟨hv, ho⟩ := hrd _ _ h3
    exact ⟨hv, ho, x, by rw [(ha _ _ hv).1 ho]; exact h4, h m ha⟩
  | store a i e =>
    intro Q s ⟨h1, h2, h3, h4, h5⟩
    refine ⟨_, h5, 0, fun _ _ _ Sc own hrd hwr K Q' m ha h => ?_⟩
    simp only [Stmt.tree, IExpr.eval_eq _ _ _ h1, RExpr.eval_eq _ _ _ h3]
    rw [if_pos (show P.inBounds a _ from h2)]
    have ⟨hv, ho⟩ := hwr _ _ _ h4
    exact ⟨hv, ho, h _ (ha.set _ _ _)⟩
  | lload v a i =>
    intro Q s ⟨h1, h2, x, h4, h5⟩
    refine ⟨_, h5, 0, fun _ _ _ Sc own hrd hwr K Q' m ha h => ?_⟩
    simp only [Stmt.tree, IExpr.eval_eq _ _ _ h1]
    rw [if_pos (show P.inBounds a _ from h2)]; simp only [h4]; exact h m ha
  | lstore a i e =>
    intro Q s ⟨h1, h2, h3, h5⟩
    refine ⟨_, h5, 0, fun _ _ _ Sc own hrd hwr K Q' m ha h => ?_⟩
    simp only [Stmt.tree, IExpr.eval_eq _ _ _ h1, RExpr.eval_eq _ _ _ h3]
    rw [if_pos (show P.inBounds a _ from h2)]; exact h m ha
  | ite c p q iha ihb =>
    intro Q s ⟨h1, h2, h3⟩
    by_cases hc : c.val P.env s.reg
    · obtain ⟨σ, h4, f, h5⟩ := iha _ s (h2 hc)
      exact ⟨σ, h4, f, fun fuel hf site Sc own hrd hwr K Q' m ha h => by
        simp only [Stmt.tree, BExpr.eval_eq _ _ _ h1, hc, decide_true]; exact h5 fuel hf _ Sc own hrd hwr K Q' m ha h⟩
    · obtain ⟨σ, h4, f, h5⟩ := ihb _ s (h3 hc)
      exact ⟨σ, h4, f, fun fuel hf site Sc own hrd hwr K Q' m ha h => by
        simp only [Stmt.tree, BExpr.eval_eq _ _ _ h1, hc, decide_false]; exact h5 fuel hf _ Sc own hrd hwr K Q' m ha h⟩
  | «while» c body ih =>
    intro Q s ⟨n, hn⟩
    have main : ∀ n s, whileN (fun s : St R => c.ok P.env s.reg) (fun s => c.val P.env s.reg) (body.wp P.env Pm) n Q s →
        ∃ σ, Q σ ∧ ∃ f0, ∀ fuel j, f0 ≤ fuel → f0 ≤ j → ∀ (site : Nat)
          (Sc : Scope Cell) (own : Cell → Own (Ext R)),
          (∀ a i, Pm.rd a i →
            Sc.vis (P.cell a i) ∧ (own (P.cell a i) = .free ∨ own (P.cell a i) = .lane t)) →
          (∀ a i x, Pm.wr a i x →
            Sc.wr (P.cell a i) ∧ (own (P.cell a i) = .lane t ∨ own (P.cell a i) = .same x)) →
          ∀ (K : Reg R → Tree Cell (Ext R)) Q' m, AgreeL P.cell Sc.vis own t m s.mem →
          (∀ m', AgreeL P.cell Sc.vis own t m' σ.mem → laneWp Sc own t (K σ.reg) Q' m') →
          laneWp Sc own t (loopTree .fault (c.eval P.env) (body.tree P fuel site) j K s.reg) Q' m := by
      intro n; induction n with
      | zero => intro s h; exact h.elim
      | succ n ihn =>
        intro s ⟨h1, h2, h3⟩
        by_cases hc : c.val P.env s.reg
        · obtain ⟨σ1, h4, f1, h5⟩ := ih _ s (h2 hc)
          obtain ⟨σ, h6, f2, h7⟩ := ihn σ1 h4
          refine ⟨σ, h6, max f1 (f2 + 1), fun fuel j hf hm site Sc own hrd hwr K Q' m ha hk => ?_⟩
          obtain ⟨j, rfl⟩ : ∃ i, j = i + 1 := ⟨j - 1, by omega⟩
          simp only [loopTree, BExpr.eval_eq _ _ _ h1, hc, decide_true]
          exact h5 fuel (by omega) _ Sc own hrd hwr _ _ m ha
            (fun m' ha' => h7 fuel j (by omega) (by omega) site Sc own hrd hwr K Q' m' ha' hk)
        · refine ⟨s, h3 hc, 1, fun fuel j hf hm site Sc own hrd hwr K Q' m ha hk => ?_⟩
          obtain ⟨j, rfl⟩ : ∃ i, j = i + 1 := ⟨j - 1, by omega⟩
          simp only [loopTree, BExpr.eval_eq _ _ _ h1, hc, decide_false]
          exact hk m ha
    obtain ⟨σ, h1, f, h2⟩ := main n s hn
    exact ⟨σ, h1, f, fun fuel hf site Sc own hrd hwr K Q' m ha hk => h2 fuel fuel hf hf site Sc own hrd hwr K Q' m ha hk⟩
  | check c =>
    intro Q s ⟨h1, h2, h3⟩
    exact ⟨_, h3, 0, fun _ _ _ Sc own hrd hwr K Q' m ha h => by
      simp only [Stmt.tree, BExpr.eval_eq _ _ _ h1, h2, decide_true]; exact h m ha⟩
  | barrier | syncwarp => intro Q s h; exact h.elim
  | shfl => intro Q s h; exact h.elim

end KShell
