//go:build !unix

package gotest

import (
	"os"
	"os/exec"
)

func setGroup(*exec.Cmd) {}

// signalGroup kills p: there is no signal to send here.
func signalGroup(p *os.Process, _ os.Signal) { _ = p.Kill() }

func killGroup(p *os.Process) { _ = p.Kill() }
