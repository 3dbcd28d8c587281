-- layer: tokens
-- trick: leaving the submission's namespace to redefine the statement
end Submission
namespace Candidate
def Statement2 : Prop := True
end Candidate
namespace Submission
theorem proof : True := trivial
