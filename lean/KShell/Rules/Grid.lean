module

public import KShell.Rules.Block
public import KShell.Sound.Finite
public import KShell.Spec

/-!
# Rules for launches

`grid_rule` lifts proofs about one symbolic block to every interleaving of the machine;
`elementwise_rule` does so for kernels without barriers from proofs about one symbolic thread.
-/

@[expose] public section
noncomputable section
namespace KShell
open scoped Classical
set_option linter.unusedSectionVars false

variable {R : Type} [ExactReal R]

/-- The memory a block starts with: its shared arrays uninitialised. -/
def Launch.initial (L : Launch) (M : Mem R) : Mem R := fun a i => if L.space a = .shared then none else M a i

/-- The grid rule: `gown` says which block owns a global cell during the launch. -/
theorem grid_rule {L : Launch} (hv : L.Valid) {Q : Mem R → Prop} {M : Mem R} (gown : Nat → Int → Option Nat)
    (Ψ : Nat → Mem R → Prop)
    (h1 : ∀ b, b < L.grid.count → ∀ regs : Nat → Nat → Reg R, (∀ w l a i, (regs w l).loc a i = none) →
      kernelWp L gown b L.kernel.body (Ψ b) ⟨regs, L.initial M⟩)
    (h2 : ∀ M' : Mem R,
      (∀ b, b < L.grid.count → ∃ Mb, Ψ b Mb ∧
        ∀ a i, L.space a ≠ .shared → gown a i = some b → M' a i = Mb a i) →
      (∀ a i, (L.space a = .shared ∨ ∀ b, b < L.grid.count → gown a i ≠ some b) → M' a i = M a i) → Q M') :
    L.Runs Q M := by
  refine ⟨hv, fun regs => ?_⟩
  let regs' : Nat → Nat → Nat → Reg R := fun b w l => { regs b w l with loc := fun _ _ => none }
  have hex : ∀ b : Nat, ∃ Mb : Mem R, b < L.grid.count → Ψ b Mb ∧ ∃ f0, ∀ fuel, f0 ≤ fuel → ∀ (site : Nat) m,
      AgreeB L gown b m (L.initial M) → Safe L gown b (AgreeB L gown b · Mb)
        (L.threads fun w l => L.kernel.body.tree (L.place b w l) fuel site (fun _ => .ret) (regs' b w l)) m := by
    intro b
    by_cases hb : b < L.grid.count
    · obtain ⟨Mb, h3, h4⟩ := h1 b hb (regs' b) (fun _ _ _ _ => rfl)
      exact ⟨Mb, fun _ => ⟨h3, h4⟩⟩
    · exact ⟨M, fun h => absurd h hb⟩
  obtain ⟨MB, hMB⟩ := Classical.axiomOfChoice hex
  obtain ⟨f0, hf⟩ := exists_bound L.grid.count _ (fun b hb => (hMB b hb).2)
  refine ⟨f0, fun fuel hfu s st => ?_⟩
  have hsafe : ∀ b, ∃ x : (Cell → Option Nat) × (Nat → Cell → Own (Ext R)), b < L.grid.count →
      BlockSafe L.warps (bscope (gownCell L gown) b) (AgreeB L gown b · (MB b)) x.1 x.2
        ((L.start fuel regs M).thread b) (L.start fuel regs M).mem := by
    intro b
    by_cases hb : b < L.grid.count
    · obtain ⟨wown, own, h⟩ := hf b hb fuel hfu 0 (L.start fuel regs M).mem (fun a i _ => by
        by_cases hs : L.space a = .shared <;> simp [Launch.start, Launch.cell, Launch.initial, hs])
      exact ⟨(wown, own), fun _ => h⟩
    · exact ⟨(fun _ => none, fun _ _ => .free), fun h => absurd h hb⟩
  obtain ⟨x, hx⟩ := Classical.axiomOfChoice hsafe
  have hinv : Inv (gownCell L gown) L.grid.count L.warps (fun b m => AgreeB L gown b m (MB b)) (L.start fuel regs M) :=
    ⟨fun b => (x b).1, fun b => (x b).2, LogOk.empty, hx⟩
  obtain ⟨g1, g2, g3, g4, g5⟩ := grid_sound hinv st
  refine ⟨step_acc _ _ s, g1, g2, g3, fun hd => h2 _ (fun b hb => ⟨MB b, (hMB b hb).1, fun a i hs ho => ?_⟩) (fun a i ho => ?_)⟩
  · have := g4 hd b hb a i (.inr (.inr ho))
    simpa only [Launch.cell, if_neg hs] using this
  · refine (g5 (none, a, i) (fun b hb he => ?_)).trans rfl
    simp only [gownCell] at he
    split at he
    · cases he; exact Nat.lt_irrefl _ hb
    · next hs => rcases ho with h | h
                 · exact hs h
                 · exact h b hb he

/-- The thread is one of the launch. -/
def Launch.has (L : Launch) (p : Int × Int) : Prop :=
  0 ≤ p.1 ∧ p.1 < L.grid.count ∧ 0 ≤ p.2 ∧ p.2 < L.block.count

/-- Kernels without shared memory and barriers, several output cells a thread, in place or not. Cell `i`
of an output array `a` belongs to thread `own a i = (block, thread)`; `P a i` is what it must hold at
the end. One obligation about one symbolic thread. -/
theorem elementwise_rule {L : Launch} (hv : L.Valid) (hsh : ∀ a, L.space a ≠ .shared) {Q : Mem R → Prop} {M : Mem R}
    (out : Nat → Prop) (own : Nat → Int → Int × Int) (P : Nat → Int → Option (Ext R) → Prop)
    (h1 : ∀ (b t : Int) (r : Reg R), 0 ≤ b → b < L.grid.count → 0 ≤ t → t < L.block.count →
      (∀ a i, r.loc a i = none) → L.kernel.body.wp (L.env b t) (tperm out own b t)
        (fun σ => ∀ a i, out a → own a i = (b, t) → P a i (σ.mem a i)) ⟨r, M⟩)
    (h2 : ∀ M' : Mem R, (∀ a i, out a → L.has (own a i) → P a i (M' a i)) →
      (∀ a i, (¬ out a ∨ ¬ L.has (own a i)) → M' a i = M a i) → Q M') : L.Runs Q M := by
  have hinit : L.initial M = M := by funext a i; simp [Launch.initial, hsh]
  let gown : Nat → Int → Option Nat := fun a i => if out a ∧ L.has (own a i) then some (own a i).1.toNat else none
  let wown : Nat → Int → Option Nat := fun a i => if out a ∧ L.has (own a i) then some ((own a i).2.toNat / 32) else none
  let lown : Nat → Int → Own (Ext R) := fun a i => if out a ∧ L.has (own a i) then .lane ((own a i).2.toNat % 32) else .free
  have hpos : 0 < L.block.count := by
    obtain ⟨_, _, _, _, _, _, h7, _, h9, _, h11, _⟩ := hv
    exact Nat.mul_pos (Nat.mul_pos h7 h9) h11
  refine grid_rule hv gown (fun b Mb => ∀ a i, out a → L.has (own a i) → (own a i).1 = b → P a i (Mb a i)) ?_ ?_
  · intro b hb regs hregs
    rw [hinit]
    refine kernel_phase hb wown (fun w σ => ∀ a i, out a → L.has (own a i) → (own a i).1 = b →
      (own a i).2.toNat / 32 = w → P a i (σ.mem a i)) ?_ ?_
    · intro w hw
      refine ⟨lown, warp_run (fun l σ => ∀ a i, out a → own a i = ((b : Int), ((32 * w + l : Nat) : Int)) → P a i (σ.mem a i)) ?_ ?_⟩
      · intro l hl hlive
        have hlt : ((32 * w + l : Nat) : Int) < L.block.count := Int.ofNat_lt.mpr hlive
        have hh : L.has ((b : Int), ((32 * w + l : Nat) : Int)) := ⟨by omega, by omega, by omega, hlt⟩
        refine Stmt.wp_perm _ _ _ _ _ _ ?_ ?_ (h1 b (32 * w + l : Nat) (regs w l) (by omega) (by omega) (by omega) hlt (hregs w l))
        · rintro a i (h | h)
          · simp [WarpCtx.perm, warpCtx, blockVis, gown, wown, lown, h]
          · by_cases ho : out a
            · refine ⟨⟨.inr (.inr ?_), .inr ?_⟩, .inr ?_⟩
              · simp only [gown, ho, h, hh, and_self, if_true]; rfl
              · simp only [wown, ho, h, hh, and_self, if_true, Int.toNat_natCast]; congr 1; omega
              · simp only [lown, ho, h, hh, and_self, if_true, Int.toNat_natCast]; congr 1; omega
            · simp [WarpCtx.perm, warpCtx, blockVis, gown, wown, lown, ho]
        · rintro a i x ⟨ho, h⟩
          refine ⟨⟨.inr ?_, ?_⟩, .inl ?_⟩
          · simp only [gown, ho, h, hh, and_self, if_true]; rfl
          · simp only [wown, ho, h, hh, and_self, if_true, Int.toNat_natCast]; congr 1; omega
          · simp only [lown, ho, h, hh, and_self, if_true, Int.toNat_natCast]; congr 1; omega
      · intro β' hown H1 _ _ _
        refine ⟨fun a i ho hh hb' hw' => ?_, fun a i v hs => ?_⟩
        · have hh' := hh
          obtain ⟨q1, q2, q3, q4⟩ := hh
          have hl : (own a i).2.toNat % 32 < 32 := Nat.mod_lt _ (by omega)
          have hsum : 32 * w + (own a i).2.toNat % 32 = (own a i).2.toNat := by omega
          have hlive : (warpCtx L gown b wown w).live ((own a i).2.toNat % 32) := by
            show 32 * w + (own a i).2.toNat % 32 < L.block.count; rw [hsum]; omega
          obtain ⟨σ, h3, _, h4⟩ := H1 _ hl hlive
          rw [h4 a i (by simp [lown, ho, hh'])]
          refine h3 a i ho (Prod.ext_iff.mpr ⟨hb', ?_⟩)
          show (own a i).2 = _
          rw [hsum]; omega
        · rw [hown] at hs; simp only [lown] at hs; split at hs <;> cases hs
    · intro β' ⟨H1, _⟩ a i ho hh hb'
      have hh' := hh
      obtain ⟨q1, q2, q3, q4⟩ := hh
      obtain ⟨σ, h3, _, h4⟩ := H1 ((own a i).2.toNat / 32) (by simp only [Launch.warps]; omega)
      rw [h4 a i (by simp [wown, ho, hh'])]
      exact h3 a i ho ⟨q1, q2, q3, q4⟩ hb' rfl
  · intro M' H1 H2
    refine h2 M' (fun a i ho hh => ?_) (fun a i hn => ?_)
    · have hh' := hh
      obtain ⟨q1, q2, q3, q4⟩ := hh
      obtain ⟨Mb, h3, h4⟩ := H1 (own a i).1.toNat (by omega)
      rw [h4 a i (hsh a) (by simp [gown, ho, hh'])]
      exact h3 a i ho ⟨q1, q2, q3, q4⟩ (by omega)
    · exact H2 a i (.inr fun b hb => by rcases hn with h | h <;> simp [gown, h])

end KShell
