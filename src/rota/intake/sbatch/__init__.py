"""Scripts that were written for Slurm's sbatch, as jobs to submit. What docs/sbatch.md says of each option is
done here.

    lines of #SBATCH ──► options ──► shape, times, hosts ──► one job in the form of a job file

What can't be honoured is a warning that names the option and its line. What would change the meaning of the
job if it were ignored, as a dependency, is an error.
"""

from rota.intake.sbatch.arrays import with_array_names
from rota.intake.sbatch.script import is_script, read_sbatch

__all__ = ["is_script", "read_sbatch", "with_array_names"]
