package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// A result is what one benchmark reported: figures by unit.
type result map[string]float64

// benchmark runs benchmarks of a package and returns their results by name, without "Benchmark" and
// with the number of processors as in "Heap/mix-2".
func benchmark(ctx context.Context, folder, pattern string, env []string, args ...string) (map[string]result, string, error) {
	args = append([]string{"test", folder, "-run", "^$", "-timeout", "30m", "-bench", pattern}, args...)
	output, err := tool{env: env}.run(ctx, "go", args...)
	if err != nil {
		return nil, "", err
	}
	results, cpu := parseBenchmarks(output)
	if len(results) == 0 {
		return nil, "", fmt.Errorf("go %s: no benchmark was run:\n%s", strings.Join(args, " "), output)
	}
	return results, cpu, nil
}

// parseBenchmarks parses the output of go test: the results, and the name of the processor.
func parseBenchmarks(output string) (results map[string]result, cpu string) {
	results = make(map[string]result)
	for line := range strings.Lines(output) {
		if name, ok := strings.CutPrefix(line, "cpu: "); ok {
			cpu = strings.TrimSpace(name)
		}
		fields := strings.Fields(line)
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		r := make(result)
		for i := 2; i+1 < len(fields); i += 2 {
			if v, err := strconv.ParseFloat(fields[i], 64); err == nil {
				r[fields[i+1]] = v
			}
		}
		results[strings.TrimPrefix(fields[0], "Benchmark")] = r
	}
	return results, cpu
}
