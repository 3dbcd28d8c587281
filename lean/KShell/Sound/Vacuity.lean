module

public import KShell.Spec

/-!
# The statement is not vacuous

A launch that `Runs` has a finished run, and two posts of one launch hold of one and the same final
memory. So no two specifications of one output that differ anywhere can both be proved of one sequence of
launches (`Correct.agree`): for every theorem of a certificate, every wrong specification is refutable.
-/

@[expose] public section
noncomputable section
namespace KShell
open scoped Classical

variable {C V : Type}

/-- Where every reachable state can go on or has finished, a finished state is reachable. -/
theorem reaches_end {nb nw : Nat} {s0 : Config C V}
    (h : ∀ s, Steps nb nw s0 s → Finished nb nw s ∨ ∃ t, Step nb nw s t) (ha : Terminates nb nw s0) :
    ∃ s, Steps nb nw s0 s ∧ Finished nb nw s := by
  have main : ∀ s, Terminates nb nw s → Steps nb nw s0 s → ∃ s', Steps nb nw s0 s' ∧ Finished nb nw s' := by
    intro s hs
    induction hs with
    | intro s _ ih =>
      intro st
      rcases h s st with hf | ⟨t, ht⟩
      · exact ⟨s, st, hf⟩
      · exact ih t ht (.tail st ht)
  exact main s0 ha (.refl s0)

variable {R : Type} [ExactReal R]

/-- Two posts of one launch meet in a final memory. -/
theorem Launch.Runs.meet {L : Launch} {Q Q' : (Nat → Int → Option (Ext R)) → Prop}
    {M : Nat → Int → Option (Ext R)} (h : L.Runs Q M) (h' : L.Runs Q' M) : ∃ M', Q M' ∧ Q' M' := by
  let regs : Nat → Nat → Nat → Reg R := fun _ _ _ => ⟨fun _ => 0, fun _ => .ninf, fun _ _ => none⟩
  obtain ⟨f1, h1⟩ := h.2 regs
  obtain ⟨f2, h2⟩ := h'.2 regs
  have g1 := h1 (max f1 f2) (by omega)
  have g2 := h2 (max f1 f2) (by omega)
  obtain ⟨s, st, hf⟩ := reaches_end (fun s st => (g1 s st).2.2.2.1) (g1 _ (.refl _)).1
  exact ⟨_, (g1 s st).2.2.2.2 hf, (g2 s st).2.2.2.2 hf⟩

/-- A post may be weakened. -/
theorem Launch.Runs.mono {L : Launch} {Q Q' : (Nat → Int → Option (Ext R)) → Prop}
    {M : Nat → Int → Option (Ext R)} (hq : ∀ M', Q M' → Q' M') (h : L.Runs Q M) : L.Runs Q' M :=
  ⟨h.1, fun regs => (h.2 regs).imp fun _ hb fuel hf s st =>
    ⟨(hb fuel hf s st).1, (hb fuel hf s st).2.1, (hb fuel hf s st).2.2.1, (hb fuel hf s st).2.2.2.1,
      fun hd => hq _ ((hb fuel hf s st).2.2.2.2 hd)⟩⟩

/-- Two posts of one sequence of launches meet in a final memory. -/
theorem RunsAll.meet {Q Q' : (Nat → Int → Option (Ext R)) → Prop} : ∀ (Ls : List Launch)
    {M : Nat → Int → Option (Ext R)}, RunsAll Q Ls M → RunsAll Q' Ls M → ∃ M', Q M' ∧ Q' M'
  | [], _, h, h' => ⟨_, h, h'⟩
  | _ :: Ls, _, h, h' => by
    obtain ⟨M1, h1, h2⟩ := Launch.Runs.meet h h'
    exact RunsAll.meet Ls h1 h2

/-- Two specifications that are proved of the same launches and inputs say the same of every element of
every output. -/
theorem Correct.agree {launches : List Launch} {inputs : List (Nat × Nat)} {outputs outputs' : List OutputSpec}
    {scratch scratch' : List Nat} (h : Correct R launches inputs outputs scratch)
    (h' : Correct R launches inputs outputs' scratch') {o o' : OutputSpec} (ho : o ∈ outputs) (ho' : o' ∈ outputs')
    (hb : o.buffer = o'.buffer) (x : Nat → Int → R) (i : Int) (i0 : 0 ≤ i) (i1 : i < o.size) (i2 : i < o'.size) :
    o.denote x i = o'.denote x i := by
  have placed : Placed inputs x fun a i => some (.fin (x a i)) := fun _ _ _ _ _ => rfl
  obtain ⟨M', g1, g2⟩ := RunsAll.meet launches (h x _ placed) (h' x _ placed)
  have e1 := g1.1 o ho i i0 i1
  have e2 := g2.1 o' ho' i i0 i2
  rw [hb, e2] at e1
  injection e1 with e
  injection e with e
  exact e.symm

end KShell
