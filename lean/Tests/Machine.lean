module

public import KShell.Sound.Lane

/-!
# Collectives of the machine

Divergence is stuck, exited threads are not waited for, and owners say what a warp may exchange.
-/

@[expose] public section
noncomputable section
namespace KShell.Tests.Machine
open KShell

/-- Lane 0 at one barrier, the others at another. -/
def divergent (_w l : Nat) : Tree Nat Nat := if l = 0 then .bar 0 .ret else .bar 1 .ret

example : ¬ ∃ s k, AtBar 1 divergent s k := by
  rintro ⟨s, k, h, _⟩
  rcases h 0 0 (by decide) (by decide) with e | ⟨e, _⟩
  · rcases h 0 1 (by decide) (by decide) with e' | ⟨e', _⟩
    · simp [divergent] at e e'; rw [← e.1] at e'; exact absurd e'.1 (by decide)
    · simp [divergent] at e'
  · simp [divergent] at e

/-- Lane 0 at a barrier, the others exited: the barrier opens. -/
def exited (_w l : Nat) : Tree Nat Nat := if l = 0 then .bar 0 .ret else .ret

example : AtBar 1 exited 0 (fun _ _ => .ret) := by
  refine ⟨fun w l _ _ => ?_, 0, 0, by decide, by decide, rfl⟩
  by_cases h : l = 0
  · left; simp [exited, h]
  · right; simp [exited, h]

/-- Lane 0 at a shuffle, the others exited: a full-mask shuffle never fires. -/
def partShfl (l : Nat) : Tree Nat Nat := if l = 0 then .shfl 0 7 (fun _ => .ret) else .ret

example : ¬ ∃ s x k, AtShfl partShfl s x k := by
  rintro ⟨s, x, k, h⟩
  have := h 1 (by decide); simp [partShfl] at this

/-- A block whose only thread waits for a partner that never comes is neither finished nor able to move. -/
example (m : Heap Nat Nat) (t : Config Nat Nat) :
    ¬ Step 1 1 ⟨fun _ => divergent, m, .empty⟩ t := by
  intro st
  cases st with
  | load b w l c k v _ _ _ e => simp only [divergent] at e; split at e <;> cases e
  | store b w l c v k _ _ _ e => simp only [divergent] at e; split at e <;> cases e
  | shfl b w site x k _ _ e => have := e 0 (by decide); simp [divergent] at this
  | sync b w site k _ _ e => obtain ⟨_, l, _, e⟩ := e; simp only [divergent] at e; split at e <;> cases e
  | bar b site k _ e =>
    obtain ⟨h, _⟩ := e
    rcases h 0 0 (by decide) (by decide) with e | ⟨e, _⟩
    · rcases h 0 1 (by decide) (by decide) with e' | ⟨e', _⟩
      · simp [divergent] at e e'; rw [← e.1] at e'; exact absurd e'.1 (by decide)
      · simp [divergent] at e'
    · simp [divergent] at e

end KShell.Tests.Machine
