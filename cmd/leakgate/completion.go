package main

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/command/goldenfile"
)

// shells are the functions that write the completion for a shell.
var shells = map[string]func(w io.Writer, words []completedCommand){
	"bash": bashCompletion,
	"fish": fishCompletion,
	"zsh":  zshCompletion,
}

// A completedCommand is a command with the words that can follow its name.
type completedCommand struct {
	name, summary string
	flags         []string // with the dash
	words         []string // possible first arguments; nil: the first argument is a file
}

// printCompletion is the command "leakgate completion".
func printCompletion(c *cli.Context, args []string, all []command) int {
	if len(args) == 1 && (args[0] == "-h" || args[0] == "-help" || args[0] == "--help") {
		return printHelp(c, []string{"completion"})
	}
	if len(args) != 1 || shells[args[0]] == nil {
		return c.UsageError("completion needs the name of a shell: bash, fish or zsh", "help completion")
	}
	words, err := completed(all)
	if err != nil {
		return c.Failure("%v", err)
	}
	shells[args[0]](c.Stdout, words)
	return cli.Pass
}

// manualFlag matches the line of a flag that a topic of the manual explains.
var manualFlag = regexp.MustCompile(`(?m)^\t(-[\w-]+)(?: \S+)?$`)

// completed returns the commands with the flags that the manual explains.
func completed(all []command) ([]completedCommand, error) {
	m, err := readManual(manualSource)
	if err != nil {
		return nil, fmt.Errorf("the manual: %w", err)
	}
	var out []completedCommand
	for _, cmd := range all {
		c := completedCommand{name: cmd.name, summary: cmd.summary}
		text, ok := m.Topic(cmd.name)
		if !ok {
			return nil, errors.New("the manual has no topic " + cmd.name)
		}
		for _, flag := range manualFlag.FindAllStringSubmatch(text, -1) {
			c.flags = append(c.flags, flag[1])
		}
		slices.Sort(c.flags)
		switch cmd.name {
		case "golden":
			c.words = goldenfile.VerbNames()
		case "help":
			c.words = m.Topics()
		case "completion":
			for shell := range shells {
				c.words = append(c.words, shell)
			}
			slices.Sort(c.words)
		}
		out = append(out, c)
	}
	return out, nil
}

func commandNames(words []completedCommand) string {
	var all []string
	for _, c := range words {
		all = append(all, c.name)
	}
	return strings.Join(all, " ")
}

func bashCompletion(w io.Writer, words []completedCommand) {
	fmt.Fprintf(w, `# Completion of leakgate for bash: source <(leakgate completion bash)
_leakgate() {
	local current=${COMP_WORDS[COMP_CWORD]} flags= words=
	COMPREPLY=()
	if [ "$COMP_CWORD" = 1 ]; then
		mapfile -t COMPREPLY < <(compgen -W %q -- "$current")
		return
	fi
	case ${COMP_WORDS[1]} in
`, commandNames(words))
	for _, c := range words {
		fmt.Fprintf(w, "\t%s) flags=%q words=%q ;;\n", c.name, strings.Join(c.flags, " "), strings.Join(c.words, " "))
	}
	fmt.Fprint(w, `	esac
	case $current in
	-*) words=$flags ;;
	*) [ "$COMP_CWORD" = 2 ] || words= ;;
	esac
	[ -z "$words" ] || mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}
complete -o default -F _leakgate leakgate
`)
}

func zshCompletion(w io.Writer, words []completedCommand) {
	fmt.Fprint(w, `#compdef leakgate
# Completion of leakgate for zsh: leakgate completion zsh >"${fpath[1]}/_leakgate"
_leakgate() {
	local -a flags more commands
	if (( CURRENT == 2 )); then
		commands=(
`)
	for _, c := range words {
		fmt.Fprintf(w, "\t\t\t'%s:%s'\n", c.name, strings.ReplaceAll(c.summary, "'", `'\''`))
	}
	fmt.Fprint(w, `		)
		_describe command commands
		return
	fi
	case $words[2] in
`)
	for _, c := range words {
		fmt.Fprintf(w, "\t%s) flags=(%s) more=(%s) ;;\n", c.name, strings.Join(c.flags, " "), strings.Join(c.words, " "))
	}
	fmt.Fprint(w, `	esac
	if [[ $PREFIX == -* ]]; then
		compadd -- $flags
	elif (( CURRENT == 3 && $#more )); then
		compadd -- $more
	else
		_files
	fi
}
compdef _leakgate leakgate
`)
}

func fishCompletion(w io.Writer, words []completedCommand) {
	fmt.Fprintln(w, "# Completion of leakgate for fish: leakgate completion fish >~/.config/fish/completions/leakgate.fish")
	for _, c := range words {
		fmt.Fprintf(w, "complete -c leakgate -n __fish_use_subcommand -f -a %s -d '%s'\n", c.name, strings.ReplaceAll(c.summary, "'", `\'`))
		for _, flag := range c.flags {
			fmt.Fprintf(w, "complete -c leakgate -n '__fish_seen_subcommand_from %s' -o %s\n", c.name, strings.TrimPrefix(flag, "-"))
		}
		if len(c.words) > 0 {
			fmt.Fprintf(w, "complete -c leakgate -n '__fish_seen_subcommand_from %s' -f -a '%s'\n", c.name, strings.Join(c.words, " "))
		}
	}
}
