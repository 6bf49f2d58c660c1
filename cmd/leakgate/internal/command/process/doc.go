// Package process has the commands that look into another process: scan and watch.
package process
