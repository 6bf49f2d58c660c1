package twin

import (
	"os/exec"

	"github.com/leakgate/leakgate/internal/winjob"
)

// A group is a command and what it starts: they end with this process, however that ends.
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

// end ends what is left of the group.
func (g *group) end() { g.job.Close() }
