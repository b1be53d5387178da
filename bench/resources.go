package main

import (
	"context"
	"time"
)

// resources are the costs of a number of jobs.
type resources struct {
	jobs   int64
	took   time.Duration
	client time.Duration // CPU of this process
	server usage
}

// watch returns the resources that do uses; do returns the number of its jobs and their time.
func watch(ctx context.Context, s server, do func() (jobs int64, took time.Duration, err error)) (resources, error) {
	before, err := s.usage(ctx)
	if err != nil {
		return resources{}, err
	}
	cpu := clientCPU()
	jobs, took, err := do()
	if err != nil {
		return resources{}, err
	}
	cpu = clientCPU() - cpu
	after, err := s.usage(ctx)
	if err != nil {
		return resources{}, err
	}
	return resources{jobs, took, cpu, after.since(before)}, nil
}

func (e resources) rate() figure {
	return figure{name: "jobs/s", unit: "1/s", value: float64(e.jobs) / e.took.Seconds()}
}

// A cost is the cost of one job. If the server does not count commands or bytes, they are 0 and not part of the figures.
type cost struct {
	client, server    float64 // CPU, µs
	commands, network float64 // commands executed, those inside of scripts too; bytes in both directions
}

func (e resources) each() cost {
	n := float64(e.jobs)
	return cost{
		client:   float64(e.client.Nanoseconds()) / 1e3 / n,
		server:   float64(e.server.cpu.Nanoseconds()) / 1e3 / n,
		commands: float64(e.server.commands) / n,
		network:  float64(e.server.in+e.server.out) / n,
	}
}

func (c cost) plus(other cost) cost {
	return cost{c.client + other.client, c.server + other.server, c.commands + other.commands, c.network + other.network}
}

// cpu are the figures of the CPU time alone.
func (c cost) cpu() []figure {
	return []figure{
		{name: "client CPU a job", unit: "µs", value: c.client, less: true},
		{name: "server CPU a job", unit: "µs", value: c.server, less: true},
	}
}

func (c cost) figures() []figure {
	all := c.cpu()
	if c.commands > 0 {
		all = append(all, figure{name: "commands a job", value: c.commands, less: true})
	}
	if c.network > 0 {
		all = append(all, figure{name: "network a job", unit: "B", value: c.network, less: true})
	}
	return all
}
