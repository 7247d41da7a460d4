#!/bin/bash
#SBATCH --job-name=evorl
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-task=1
#SBATCH --time=04:00:00
#SBATCH --signal=TERM@120
# The first task coordinates the run and evaluates too; the others are workers. Submitted again, the job goes on from the last checkpoint.
# login.txt, cert.pem and key.pem lie beside this script; the certificate is for the name of the first node (evorl help worker).
set -eu
host=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
export EVORL_HUB="$host"
# A worker that fails must not end the others: -K0 and -W0.
exec srun -K0 -W0 bash -c '
  if [ "$SLURM_PROCID" = 0 ]; then
    exec evorl run --resume --out runs/shared --device all --log-format json \
      --cluster embed://0.0.0.0:4222/run --login login.txt --tls-cert cert.pem --tls-key key.pem openes.toml
  fi
  exec evorl worker --device all --login login.txt --tls-ca cert.pem "tls://$EVORL_HUB:4222/run"'
