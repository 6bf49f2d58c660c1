package repeat

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/gotest"
	"github.com/leakgate/leakgate/internal/procfs"
)

// A server is a process that this command has started.
type server struct {
	cmd    *exec.Cmd
	group  *gotest.Group
	output tail
	ended  chan struct{}
}

// startServer starts a command line in a shell, which the command replaces.
func startServer(line string, env []string) (*server, error) {
	s := &server{cmd: exec.Command("/bin/sh", "-c", "exec "+line), ended: make(chan struct{})}
	s.cmd.Env, s.cmd.Stdout, s.cmd.Stderr = env, &s.output, &s.output
	s.cmd.WaitDelay = time.Second // a child of the server may hold its output
	s.group = gotest.NewGroup(s.cmd)
	if err := s.group.Start(); err != nil {
		return nil, err
	}
	go s.wait()
	return s, nil
}

// wait waits until the server has ended, and only then calls Wait: that would return when the
// server is stopped to be read, see internal/engine/process/attach.
func (s *server) wait() {
	for !hasEnded(s.pid()) {
		time.Sleep(lookEvery)
	}
	_ = s.cmd.Wait()
	close(s.ended)
}

// hasEnded reports whether a child of this process has ended; it may be a zombie.
func hasEnded(pid int) bool {
	stat, err := procfs.ReadStat(fmt.Sprintf("/proc/%d", pid))
	return err != nil || stat.HasEnded()
}

func (s *server) pid() int { return s.cmd.Process.Pid }

// stopAfter is how long a server has to end by itself.
const stopAfter = 5 * time.Second

// stop ends the server and what it has started.
func (s *server) stop() {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.ended:
	case <-time.After(stopAfter):
	}
	_ = s.group.Kill()
	<-s.ended
	s.group.Close()
}

// lookEvery is how often it is tried whether a server is ready.
const lookEvery = 50 * time.Millisecond

// await waits until the server is ready: until an address answers, as a URL without an error of
// the server's, or as host:port with a connection. Without an address it waits until the server has
// run for a moment.
func (s *server) await(ctx context.Context, address string) error {
	started := time.Now()
	last := errors.New("it was not asked")
	for {
		switch {
		case address == "" && time.Since(started) > 10*lookEvery:
			return nil
		case address != "":
			if last = ask(ctx, address); last == nil {
				return nil
			}
		}
		select {
		case <-s.ended:
			return fmt.Errorf("the server ended before it was ready (%v)%s", s.cmd.ProcessState, s.output.said())
		case <-ctx.Done():
			return fmt.Errorf("the server was not ready in time at %s: %w%s", address, last, s.output.said())
		case <-time.After(lookEvery):
		}
	}
}

func ask(ctx context.Context, address string) error {
	if !strings.HasPrefix(address, "http://") && !strings.HasPrefix(address, "https://") {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err != nil {
			return err
		}
		return c.Close()
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	answer, err := request(ctx, address)
	if err != nil {
		return err
	}
	if err := answer.Body.Close(); err != nil {
		return err
	}
	if answer.StatusCode >= 400 {
		return errors.New(answer.Status)
	}
	return nil
}
