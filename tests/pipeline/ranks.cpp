// Which process of a training this one is: the variables of each launcher, one inside another, and
// contradictions.
#include <deque>
#include <initializer_list>
#include <string>
#include <tuple>
#include <utility>

#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include "support/variable.hpp"
#include <wick/pipeline/ranks.hpp>
#include <wick/sampling/order.hpp>

namespace wick_test::ranks_tests {

using wick_test::contains;
using wick_test::message_of;

namespace {

/// An environment that has these variables of launchers, and no others.
class launched {
 public:
  launched(std::initializer_list<std::pair<const char*, const char*>> by) {
    for (const char* const name : {"RANK",
                                   "WORLD_SIZE",
                                   "LOCAL_RANK",
                                   "LOCAL_WORLD_SIZE",
                                   "NODE_RANK",
                                   "TORCHELASTIC_RUN_ID",
                                   "RAY_JOB_ID",
                                   "OMPI_COMM_WORLD_RANK",
                                   "OMPI_COMM_WORLD_SIZE",
                                   "OMPI_COMM_WORLD_LOCAL_RANK",
                                   "OMPI_COMM_WORLD_LOCAL_SIZE",
                                   "PMI_RANK",
                                   "PMI_SIZE",
                                   "MPI_LOCALRANKID",
                                   "MPI_LOCALNRANKS",
                                   "SLURM_PROCID",
                                   "SLURM_NTASKS",
                                   "SLURM_STEP_NUM_TASKS",
                                   "SLURM_STEP_TASKS_PER_NODE",
                                   "SLURM_LOCALID",
                                   "SLURM_NODEID"})
      set_.emplace_back(name, nullptr);
    for (const auto& [name, value] : by) set_.emplace_back(name, value);
  }

  launched(const launched&) = delete;
  launched& operator=(const launched&) = delete;
  ~launched() {
    while (!set_.empty()) set_.pop_back();  // the last that was set first
  }

 private:
  std::deque<wick_test::variable> set_;
};

/// "1 of 4, 1 of 2 here: torchrun"
std::string found() {
  const wick::process_ranks r = wick::ranks();
  return std::to_string(r.rank) + " of " + std::to_string(r.world) + ", " + std::to_string(r.local_rank) +
         " of " + std::to_string(r.local_world) + " here: " + r.launcher;
}

}  // namespace

TEST_CASE("without a launcher there is one rank") {
  const launched none({});
  CHECK(found() == "0 of 1, 0 of 1 here: ");
  const launched batch_script({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}, {"SLURM_LOCALID", "0"}});
  CHECK(found() == "0 of 1, 0 of 1 here: ");
}

TEST_CASE("each launcher's variables are known") {
  {
    const launched by({{"RANK", "5"}, {"WORLD_SIZE", "8"}, {"LOCAL_RANK", "1"}, {"LOCAL_WORLD_SIZE", "4"}});
    CHECK(found() == "5 of 8, 1 of 4 here: torchrun");
    CHECK(wick::shard().rank == 5);
    CHECK(wick::shard().world == 8);
  }
  {
    const launched by({{"WORLD_SIZE", "2"}, {"NODE_RANK", "0"}, {"LOCAL_RANK", "1"}});
    CHECK(found() == "1 of 2, 1 of 2 here: Lightning");
  }
  {
    const launched by(
        {{"WORLD_SIZE", "8"}, {"NODE_RANK", "1"}, {"LOCAL_RANK", "3"}, {"LOCAL_WORLD_SIZE", "4"}});
    CHECK(found() == "7 of 8, 3 of 4 here: Lightning");
  }
  {
    const launched by({{"OMPI_COMM_WORLD_RANK", "3"},
                       {"OMPI_COMM_WORLD_SIZE", "4"},
                       {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                       {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}});
    CHECK(found() == "3 of 4, 1 of 2 here: Open MPI");
  }
  {
    const launched by(
        {{"PMI_RANK", "3"}, {"PMI_SIZE", "4"}, {"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "2"}});
    CHECK(found() == "3 of 4, 1 of 2 here: MPICH");
  }
  for (const auto& [node, counts, local] :
       {std::tuple{"0", "4", "4"}, std::tuple{"2", "2(x2),3", "3"}, std::tuple{"1", "1,2(x2)", "2"},
        std::tuple{"3", "1(x2),2(x2)", "2"}}) {
    CAPTURE(counts);
    const launched by({{"SLURM_PROCID", "2"},
                       {"SLURM_STEP_NUM_TASKS", "7"},
                       {"SLURM_LOCALID", "1"},
                       {"SLURM_NODEID", node},
                       {"SLURM_STEP_TASKS_PER_NODE", counts}});
    CHECK(found() == "2 of 7, 1 of " + std::string(local) + " here: Slurm");
  }
}

TEST_CASE("a launcher inside another one counts") {
  {  // torchrun on each of two nodes, which numbers them as they came
    const launched by({{"RANK", "1"},
                       {"WORLD_SIZE", "8"},
                       {"LOCAL_RANK", "1"},
                       {"LOCAL_WORLD_SIZE", "4"},
                       {"TORCHELASTIC_RUN_ID", "7"},
                       {"SLURM_PROCID", "1"},
                       {"SLURM_STEP_NUM_TASKS", "2"}});
    CHECK(found() == "1 of 8, 1 of 4 here: torchrun");
  }
  {  // Open MPI's mpirun starts its daemons by srun
    const launched by({{"OMPI_COMM_WORLD_RANK", "5"},
                       {"OMPI_COMM_WORLD_SIZE", "8"},
                       {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                       {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                       {"SLURM_PROCID", "1"},
                       {"SLURM_STEP_NUM_TASKS", "2"}});
    CHECK(found() == "5 of 8, 1 of 4 here: Open MPI");
  }
  {  // a script that sets WORLD_SIZE, or both, from Slurm's
    const launched by({{"WORLD_SIZE", "4"},
                       {"SLURM_PROCID", "3"},
                       {"SLURM_STEP_NUM_TASKS", "4"},
                       {"SLURM_LOCALID", "1"},
                       {"SLURM_NODEID", "1"},
                       {"SLURM_STEP_TASKS_PER_NODE", "2(x2)"}});
    CHECK(found() == "3 of 4, 1 of 2 here: Slurm");
    const wick_test::variable local("LOCAL_RANK", "1");
    CHECK(found() == "3 of 4, 1 of 2 here: Slurm");
    const wick_test::variable rank("RANK", "3");
    CHECK(found() == "3 of 4, 1 of 2 here: torchrun");
  }
}

TEST_CASE("variables that contradict each other are an error that shows both") {
  const auto refused = [] { return message_of([] { return wick::shard(); }); };
  {  // left over from a container, or a shell
    const launched by(
        {{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "4"}});
    CHECK(contains(refused(),
                   "RANK=0 and WORLD_SIZE=1, and OMPI_COMM_WORLD_RANK=3 and OMPI_COMM_WORLD_SIZE=4",
                   "unset what is wrong"));
  }
  {  // set for all tasks alike
    const launched by(
        {{"RANK", "0"}, {"WORLD_SIZE", "4"}, {"SLURM_PROCID", "3"}, {"SLURM_STEP_NUM_TASKS", "4"}});
    CHECK(contains(refused(), "RANK=0 and WORLD_SIZE=4, and SLURM_PROCID=3 and SLURM_STEP_NUM_TASKS=4"));
    const wick_test::variable renumbered("TORCHELASTIC_RUN_ID", "1");
    CHECK(wick::shard().rank == 0);
  }
  {
    const launched by({{"WORLD_SIZE", "8"}, {"SLURM_PROCID", "3"}, {"SLURM_STEP_NUM_TASKS", "4"}});
    CHECK(contains(refused(), "WORLD_SIZE=8, and RANK is not set"));
  }
  {
    const launched by({{"WORLD_SIZE", "8"}, {"NODE_RANK", "1"}, {"LOCAL_RANK", "3"}});
    CHECK(contains(refused(), "LOCAL_RANK=3 and WORLD_SIZE=8, NODE_RANK=1, and LOCAL_WORLD_SIZE is not set"));
  }
  {
    const launched by({{"OMPI_COMM_WORLD_RANK", "x"}, {"OMPI_COMM_WORLD_SIZE", "4"}});
    CHECK(contains(refused(), "OMPI_COMM_WORLD_RANK=x, which is not a number"));
  }
  CHECK(message_of([] { return wick::shard(1, 2); }).empty());
}

}  // namespace wick_test::ranks_tests
