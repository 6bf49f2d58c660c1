//go:build !unix

package gotest

import (
	"os"
	"os/exec"
)

// SetGroup does nothing: there are no process groups here.
func SetGroup(*exec.Cmd) {}

// signalGroup kills p: there is no signal to send here.
func signalGroup(p *os.Process, _ os.Signal) { _ = p.Kill() }

// KillGroup kills p.
func KillGroup(p *os.Process) { _ = p.Kill() }
