package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// everything has slow tests run, too.
const everything = "LEAKGATE_SLOW=1"

// A tool runs commands in one folder with additions to the environment.
type tool struct {
	dir string
	env []string
}

// run returns what a command prints on both streams, and an error with it if the command fails.
func (t tool) run(ctx context.Context, name string, args ...string) (string, error) {
	cmd := t.command(ctx, name, args...)
	output, err := cmd.CombinedOutput()
	if err != nil {
		return string(output), fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, tail(output))
	}
	return string(output), nil
}

// value returns the last line of what a command prints on its standard output.
func (t tool) value(ctx context.Context, name string, args ...string) (string, error) {
	cmd := t.command(ctx, name, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, tail(stderr.Bytes()))
	}
	return strings.TrimSpace(string(output)), nil
}

// decode decodes the JSON that a command prints.
func (t tool) decode(ctx context.Context, v any, name string, args ...string) error {
	output, err := t.value(ctx, name, args...)
	if err != nil {
		return err
	}
	return json.Unmarshal([]byte(output), v)
}

func (t tool) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = t.dir
	cmd.Env = append(os.Environ(), t.env...)
	return cmd
}

// tail returns the last lines of what a command printed.
func tail(output []byte) string {
	const most = 40
	lines := strings.Split(strings.TrimSpace(string(output)), "\n")
	if len(lines) > most {
		lines = append([]string{"..."}, lines[len(lines)-most:]...)
	}
	return strings.Join(lines, "\n")
}
