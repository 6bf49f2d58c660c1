package gotest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Building says what compilers and linkers that the go command has started below this process are
// at: "compiling net/http, linking app.test"; "" if there are none, or that is not known.
func Building() string {
	var tools []string
	for _, child := range children(os.Getpid()) {
		findTools(child, &tools, 0)
	}
	slices.Sort(tools)
	return strings.Join(slices.Compact(tools), ", ")
}

// maxDepth bounds the descent from this process to compilers: go, cgo, and wrappers of theirs.
const maxDepth = 5

func findTools(pid int, tools *[]string, depth int) {
	line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	args := strings.Split(string(line), "\x00")
	after := func(flag string) string {
		if i := slices.Index(args, flag); i >= 0 && i+1 < len(args) {
			return args[i+1]
		}
		return ""
	}
	switch filepath.Base(args[0]) {
	case "compile", "asm", "cgo":
		if pkg := after("-p"); pkg != "" {
			*tools = append(*tools, "compiling "+pkg)
		}
		return
	case "link":
		if out := after("-o"); out != "" {
			*tools = append(*tools, "linking "+filepath.Base(out))
		}
		return
	}
	if depth < maxDepth {
		for _, child := range children(pid) {
			findTools(child, tools, depth+1)
		}
	}
}

// children returns the processes that a process has started.
func children(pid int) []int {
	var all []int
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		for _, word := range strings.Fields(string(text)) {
			var child int
			if _, err := fmt.Sscan(word, &child); err == nil {
				all = append(all, child)
			}
		}
	}
	return all
}
