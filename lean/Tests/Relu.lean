module

public import KShell.Rules.Grid
public import KShell.Sound.Vacuity
public import KShell.Scalar.Model

/-!
# A complete proof: ReLU

From the literal of a launch to `Correct`. 16384 elements, 64 blocks of 256 threads, guarded. The
automatic prover emits proofs of this shape. A kernel with a wrong guard and one with a wrong operator
must not prove.
-/

@[expose] public section
noncomputable section
namespace KShell.Tests.Relu
open KShell Lean.Grind
open scoped Classical

/-- `int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = fmaxf(x[i], 0.0f);` -/
def body : Stmt :=
  .seq (.seti 0 (.bin .add .i32 (.bin .mul .i32 (.special .bid .x) (.special .bdim .x)) (.special .tid .x))) <|
  .ite (.icmp .lt (.var 0) (.param 0))
    (.seq (.load 0 0 (.var 0)) (.store 1 (.var 0) (.bin .max (.var 0) (.lit 0 1))))
    .skip

/-- `relu<<<64, 256>>>(x, y, 16384)`. -/
def launch : Launch where
  kernel := ⟨[⟨.global, 16384⟩, ⟨.global, 16384⟩], body⟩
  grid := ⟨64, 1, 1⟩
  block := ⟨256, 1, 1⟩
  args := [.int 16384]

/-- `y[i] = max(x[i], 0)`. -/
def output : OutputSpec where
  buffer := 1
  vars := [(0, 16384)]
  body := .bin .max (.read 0 [16384] [.var 0]) (.const 0 1)

variable {R : Type} [ExactReal R]

theorem output_denote (x : Nat → Int → R) (i : Int) : output.denote x i = maxR (x 0 i) 0 := by
  simp [output, OutputSpec.denote, SExpr.denote, flatIndex, Ix.denote, unflatten, bindIx, RealOp.real]

theorem thread_ok (x : Int → R) (M : Mem R) (hx : ∀ i : Int, 0 ≤ i → i < 16384 → M 0 i = some (.fin (x i)))
    (b t : Int) (r : Reg R) (hb0 : 0 ≤ b) (hb : b < 64) (ht0 : 0 ≤ t) (ht : t < 256) :
    body.wp (launch.env b t) (tperm (· = 1) (fun _ i => (i / 256, i % 256)) b t)
      (fun σ => ∀ i : Int, (i / 256, i % 256) = (b, t) → σ.mem 1 i = some (.fin (maxR (x i) 0))) ⟨r, M⟩ := by
  have e1 : t % 256 = t := by omega
  have e2 : b % 64 = b := by omega
  simp +contextual (disch := omega) [body, launch, Launch.env, Launch.size, Dim3.coord, Dim3.get, Arg.toInt,
    hx, Mem.set, e1, e2]
  (repeat' (first | (refine And.intro ?_ ?_) | intro _)) <;> first | omega | grind

theorem relu_correct : Correct R [launch] [(0, 16384)] [output] [] := by
  intro x M hM
  have hx : ∀ i : Int, 0 ≤ i → i < 16384 → M 0 i = some (.fin (x 0 i)) := hM (0, 16384) (by simp)
  refine elementwise_rule (by decide) ?_ (· = 1) (fun _ i => (i / 256, i % 256))
    (fun a i v => a = 1 → v = some (.fin (maxR (x 0 i) 0))) ?_ ?_
  · intro a; rcases a with _ | _ | a <;> simp [launch, Launch.space]
  · intro b t r hb0 hb ht0 ht _
    refine Stmt.wp_mono _ _ _ _ (fun σ hσ a i ha he _ => by subst ha; exact hσ i he)
      (thread_ok (x 0) M hx b t r hb0 hb ht0 ht)
  · intro M' H1 H2
    refine ⟨fun o ho i hi0 hi => ?_, fun a i ha _ => H2 a i (.inl fun h => ha (by simp [h, output]))⟩
    simp only [List.mem_singleton] at ho; subst ho
    have hi : i < 16384 := hi
    rw [output_denote]
    refine H1 1 i rfl ?_ rfl
    simp only [Launch.has, launch, Dim3.count]; omega

/-! ### What must not prove -/

/-- The premise can be met: there is a memory with the inputs in place. -/
example (x : Nat → Int → R) : ∃ M, Placed [(0, 16384)] x M :=
  ⟨fun a i => some (.fin (x a i)), fun _ _ _ _ _ => rfl⟩

/-- A wrong specification of the same launch: the minimum. -/
def wrong : OutputSpec := { output with body := .bin .min (.read 0 [16384] [.var 0]) (.const 0 1) }

/-- The statement for the wrong specification is false, not merely unproved. -/
theorem wrong_refuted : ¬ Correct Rat [launch] [(0, 16384)] [wrong] [] := by
  intro h
  have h1 := relu_correct (R := Rat) (fun _ _ => 1) (fun _ _ => some (.fin 1)) (fun _ _ _ _ _ => rfl)
  have h2 := h (fun _ _ => 1) (fun _ _ => some (.fin 1)) (fun _ _ _ _ _ => rfl)
  obtain ⟨M', g1, g2⟩ := RunsAll.meet _ h1 h2
  have e1 := g1.1 output (by simp) 0 (by omega) (by decide)
  have e2 := g2.1 wrong (by simp) 0 (by omega) (by decide)
  rw [show output.buffer = wrong.buffer from rfl, e2] at e1
  simp [output, wrong, OutputSpec.denote, SExpr.denote, unflatten, RealOp.real, maxR, minR] at e1
  exact absurd e1 (by decide)

/-- A guard that misses elements: `i <= 16000`. -/
def bodyBad : Stmt :=
  .seq (.seti 0 (.bin .add .i32 (.bin .mul .i32 (.special .bid .x) (.special .bdim .x)) (.special .tid .x))) <|
  .ite (.icmp .le (.var 0) (.lit 16000 .i32))
    (.seq (.load 0 0 (.var 0)) (.store 1 (.var 0) (.bin .max (.var 0) (.lit 0 1))))
    .skip

/-- The proof of `thread_ok` does not go through for a guard that misses elements. -/
example (b t : Int) (hb0 : 0 ≤ b) (hb : b < 64) (ht0 : 0 ≤ t) (ht : t < 256) : True := by
  have e1 : t % 256 = t := by omega
  have e2 : b % 64 = b := by omega
  fail_if_success
    have (x : Int → R) (M : Mem R) (hx : ∀ i : Int, 0 ≤ i → i < 16384 → M 0 i = some (.fin (x i))) (r : Reg R) : bodyBad.wp (launch.env b t) (tperm (· = 1) (fun _ i => (i / 256, i % 256)) b t)
        (fun σ => ∀ i : Int, (i / 256, i % 256) = (b, t) → σ.mem 1 i = some (.fin (maxR (x i) 0))) ⟨r, M⟩ := by
      simp +contextual (disch := omega) [bodyBad, launch, Launch.env, Launch.size, Dim3.coord, Dim3.get, Arg.toInt,
        hx, Mem.set, e1, e2]
      (repeat' (first | (refine And.intro ?_ ?_) | intro _)) <;> first | omega | grind
  trivial

end KShell.Tests.Relu
