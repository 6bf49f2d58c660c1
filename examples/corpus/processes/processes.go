// Package processes leaks by child processes, files, and the process's environment.
package processes

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"example.com/corpus/app"
	"example.com/corpus/internal/judge"
)

// Group is the cases of the package.
var Group = judge.Group{Name: "processes", Cases: []judge.Case{
	{Name: "NotWaitedFor", Leak: commands(false), Fixed: commands(true), Grows: judge.Goroutines.After(3), Calls: 3, Culprit: `os/exec\.\(\*Cmd\)|processes\.`},
	{Name: "OutputUnread", Leak: outputs(false), Fixed: outputs(true), Grows: judge.Goroutines.After(3), Calls: 3, Culprit: `processes\.scan`},
	{Name: "CommandsKept", Leak: keptCommands(false), Fixed: keptCommands(true), Grows: judge.Objects.After(5), Calls: 3, Culprit: `processes\.ran`},
	{Name: "FilesOpen", Leak: files(false), Fixed: files(true), Grows: judge.Objects.After(50), Culprit: `processes\.opened`},
	{Name: "Readers", Leak: readers(false), Fixed: readers(true), Grows: judge.Bytes(4096), Culprit: `processes\.scanners`},
	{Name: "Paths", Leak: walks(false), Fixed: walks(true), Grows: judge.Objects.After(50), Culprit: `processes\.visited`},
	{Name: "Setenv", Leak: exporting(exportEach), Fixed: exporting(exportSame), Grows: judge.Entries(func() int { return len(os.Environ()) }), Culprit: `syscall\.env`},
	{Name: "TempDirs", Leak: tempDirs(false), Fixed: tempDirs(true), Grows: judge.Objects.After(50), Culprit: `processes\.scratch`},
	{Name: "NeverStarted", Leak: neverStarted(false), Fixed: neverStarted(true), Grows: judge.Objects.After(20), Culprit: `processes\.prepared`},

	{Name: "Worker", Healthy: worker, Grows: judge.Objects.After(50)},
	{Name: "Runs", Healthy: commands(true), Grows: judge.Objects.After(5).PerCall(5)},
	{Name: "FilesDropped", Healthy: droppedFiles, Grows: judge.Objects.After(50)},
	{Name: "FilesCopied", Healthy: copied, Grows: judge.Objects.After(50)},
}}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// commands are started with a context, which a goroutine watches until Wait.
func commands(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		ctx, cancel := context.WithCancel(context.Background())
		t.Cleanup(cancel)
		return func() {
			cmd := exec.CommandContext(ctx, "true")
			if err := cmd.Start(); err != nil {
				panic(err)
			}
			if fixed {
				_ = cmd.Wait()
			} else {
				_, _ = cmd.Process.Wait() // waits for the process, not for the goroutines of cmd
			}
		}
	}
}

func scan(r io.Reader, lines chan<- string) {
	for s := bufio.NewScanner(r); s.Scan(); {
		lines <- s.Text()
	}
}

func outputs(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		return func() {
			cmd := exec.Command("echo", "one\ntwo")
			out := must(cmd.StdoutPipe())
			if err := cmd.Start(); err != nil {
				panic(err)
			}
			lines := make(chan string)
			go scan(out, lines)
			<-lines
			if fixed {
				<-lines
			}
			_ = cmd.Wait()
		}
	}
}

var prepared []*exec.Cmd

// neverStarted makes a pipe for a command that is never started.
func neverStarted(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() {
			for _, cmd := range prepared {
				_ = cmd.Start()
				_ = cmd.Wait()
			}
			prepared = nil
		})
		return func() {
			cmd := exec.Command("true")
			must(cmd.StdinPipe())
			if fixed {
				_ = cmd.Start()
				_ = cmd.Wait()
				return
			}
			prepared = append(prepared, cmd)
		}
	}
}

// worker is a process that is asked again and again.
func worker(t *testing.T) func() {
	cmd := exec.Command("cat")
	in, out := must(cmd.StdinPipe()), must(cmd.StdoutPipe())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Wait()
	})
	answers := bufio.NewReader(out)
	return func() {
		fmt.Fprintln(in, "question", app.Next())
		_ = must(answers.ReadString('\n'))
	}
}

var ran []*exec.Cmd

func keptCommands(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { ran = nil })
		return func() {
			cmd := exec.Command("true")
			if err := cmd.Run(); err != nil {
				panic(err)
			}
			if fixed {
				ran = ran[:0]
			}
			ran = append(ran, cmd)
		}
	}
}

var opened []*os.File

func text(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(path, []byte("some words"), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func files(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		path := text(t)
		t.Cleanup(func() {
			for _, f := range opened {
				f.Close()
			}
			opened = nil
		})
		return func() {
			f := must(os.Open(path))
			if fixed {
				f.Close()
				return
			}
			opened = append(opened, f)
		}
	}
}

var scanners = map[string]*bufio.Reader{}

func readers(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { clear(scanners) })
		return func() {
			name := app.NewSession().ID
			scanners[name] = bufio.NewReader(strings.NewReader("line\n"))
			_ = must(scanners[name].ReadString('\n'))
			if fixed {
				delete(scanners, name)
			}
		}
	}
}

// visited are the paths that a walk has seen.
var visited = map[string]os.FileInfo{}

func walks(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		path := text(t)
		t.Cleanup(func() { clear(visited) })
		return func() {
			if fixed {
				clear(visited)
			}
			visited[fmt.Sprint(path, app.Next())] = must(os.Stat(path))
		}
	}
}

// exporting sets the environment anew, without the slots that other cases have left in it.
func exporting(op func()) judge.Setup {
	return func(t *testing.T) func() {
		before := os.Environ()
		reset := func() {
			os.Clearenv()
			for _, kv := range before {
				name, value, _ := strings.Cut(kv, "=")
				os.Setenv(name, value)
			}
		}
		reset()
		t.Cleanup(reset)
		return op
	}
}

func exportEach() { os.Setenv(fmt.Sprint("CORPUS_", app.Next()), "value") }

// Few values: with cgo, or -race, glibc's setenv keeps each value that it has not seen before.
func exportSame() { os.Setenv("CORPUS", fmt.Sprint("value ", app.Next()%4)) }

var scratch []string

func tempDirs(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		base := t.TempDir()
		t.Cleanup(func() { scratch = nil })
		return func() {
			dir := must(os.MkdirTemp(base, ""))
			scratch = append(scratch, dir)
			os.Remove(dir)
			if fixed {
				scratch = scratch[:0]
			}
		}
	}
}

// Files that nobody refers to are closed by the garbage collector.
func droppedFiles(t *testing.T) func() {
	path := text(t)
	return func() { _ = must(os.Open(path)) }
}

func copied(t *testing.T) func() {
	path := text(t)
	return func() {
		in, out := must(os.Open(path)), must(os.Create(path+".copy"))
		_ = must(io.Copy(out, in))
		in.Close()
		out.Close()
	}
}
