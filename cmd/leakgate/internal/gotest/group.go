package gotest

// Run starts the command of the group and waits for its end, as exec.Cmd.Run does.
func (g *Group) Run() error {
	if err := g.Start(); err != nil {
		return err
	}
	return g.cmd.Wait()
}
