package twin

import (
	"os/exec"

	"github.com/leakgate/leakgate/internal/winjob"
)

// A group is a job object with a command and its children. They end with this process, however it
// ends.
type group struct {
	cmd *exec.Cmd
	job *winjob.Job
}

func newGroup(cmd *exec.Cmd) *group {
	g := &group{cmd, winjob.New(cmd)}
	cmd.Cancel = g.job.Kill
	return g
}

// run starts the command and waits for its end.
func (g *group) run() error {
	if err := g.job.Start(); err != nil {
		return err
	}
	return g.cmd.Wait()
}

// end kills the rest of the group.
func (g *group) end() { g.job.Close() }
