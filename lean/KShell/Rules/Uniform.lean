module

public import KShell.Rules.Phase

/-!
# Kernels that end in uniform control

A kernel may end in block code (a loop whose last statement is a barrier), and may branch on a condition on
which all threads of the block agree, with barriers in the branches.
-/

@[expose] public section
noncomputable section
namespace KShell
open scoped Classical
set_option linter.unusedSectionVars false

variable {R : Type} [ExactReal R] {L : Launch} {gown : Nat → Int → Option Nat} {b : Nat} {β : BSt R}

/-- Exited threads are safe. -/
theorem safe_ret {Post : Heap Cell (Ext R) → Prop} {m : Heap Cell (Ext R)}
    (h : ∀ m', (∀ c, (bscope (gownCell L gown) b).vis c → m' c = m c) → Post m') :
    Safe L gown b Post (L.threads fun _ _ => .ret) m := by
  have hret : ∀ w l, L.threads (fun _ _ => (.ret : Tree Cell (Ext R))) w l = .ret := by
    intro w l; simp only [Launch.threads]; split <;> rfl
  refine ⟨fun _ => none, fun _ _ => .free, .fold ⟨fun _ th _ => ∀ l, l < 32 → th l = .ret, fun w _ => .fold
    ⟨fun _ r _ => r = .ret, fun l _ => ?_, fun th' _ H1 _ => .inl ?_⟩, fun th' m' H1 H2 => .inl ⟨?_, h m' ?_⟩⟩⟩
  · rw [hret]; rfl
  · have hr : ∀ l, l < 32 → th' l = .ret := fun l hl => (H1 l hl).elim fun _ h => h.1
    exact ⟨fun l hl => by rw [hr l hl]; trivial, hr⟩
  · intro w l hw hl; obtain ⟨_, h, _⟩ := H1 w hw; exact h l hl
  · intro c hc; exact H2 c hc (fun _ _ => by simp)

/-- A kernel that ends in block code. -/
theorem kernel_of_block {p : Stmt} {Q : Mem R → Prop}
    (h : blockWp L gown b p (fun β => Q β.mem) β) : kernelWp L gown b p Q β := by
  obtain ⟨β', h1, f0, h2⟩ := h
  refine ⟨β'.mem, h1, f0, fun fuel hf site m hm => h2 fuel hf site (fun _ _ _ => .ret) _ (fun m' ha => ?_) m hm⟩
  refine safe_ret fun m2 h3 a i hv => ?_
  rw [h3 _ ?_, ha a i hv]
  by_cases hs : L.space a = .shared
  · simp [Launch.cell, hs, gownCell, bscope]
  · simpa [Launch.cell, hs, gownCell, bscope, blockVis] using hv

/-- The rest of a kernel branches on a condition on which all threads of the block agree. -/
theorem kernel_ite {c : BExpr} {p q : Stmt} {Q : Mem R → Prop}
    (ho : ∀ t : Nat, t < L.block.count → c.ok (L.env b t) (β.thread t))
    (h : ((∀ t : Nat, t < L.block.count → c.val (L.env b t) (β.thread t)) ∧ kernelWp L gown b p Q β) ∨
      ((∀ t : Nat, t < L.block.count → ¬ c.val (L.env b t) (β.thread t)) ∧ kernelWp L gown b q Q β)) :
    kernelWp L gown b (.ite c p q) Q β := by
  have he : ∀ w l, (L.place b w l : Place R).env = L.env b (32 * w + l : Nat) := fun _ _ => rfl
  rcases h with ⟨hc, M', h1, f0, h2⟩ | ⟨hc, M', h1, f0, h2⟩
  · refine ⟨M', h1, f0, fun fuel hf site m hm => (h2 fuel hf site m hm).congr fun w l hl hv => ?_⟩
    have h1 := ho _ hv; have h2 := hc _ hv
    rw [β.thread_eq hl] at h1 h2
    simp only [Stmt.tree, he, BExpr.eval_eq _ _ _ h1, h2, decide_true]
  · refine ⟨M', h1, f0, fun fuel hf site m hm => (h2 fuel hf (site + p.sites) m hm).congr fun w l hl hv => ?_⟩
    have h1 := ho _ hv; have h2 := hc _ hv
    rw [β.thread_eq hl] at h1 h2
    simp only [Stmt.tree, he, BExpr.eval_eq _ _ _ h1, h2, decide_false]

end KShell
