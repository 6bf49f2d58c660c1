//go:build race

package judge

const withRace = true
