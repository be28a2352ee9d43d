import com.sun.management.OperatingSystemMXBean;
import java.io.BufferedReader;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.cep.CEP;
import org.apache.flink.cep.functions.PatternProcessFunction;
import org.apache.flink.cep.pattern.Pattern;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.util.Collector;

/**
 * What FlinkCEP needs for one query: events made in memory, heap state, event time.
 *
 * <p>Arguments: the query, events, keys, the window in milliseconds, parallelism, events of a first run that is not
 * counted (0: none), how many runs are, and by how many milliseconds events may be late (0: they come in order). Prints
 * a line of JSON a run: CPU and elapsed seconds of the job (not of the start of the JVM), the number of matches, and the
 * sums of their first and last times.
 */
public final class CepThroughput {
    private CepThroughput() {}

    public static void main(String[] arguments) throws Exception {
        String query = arguments[0];
        long events = Long.parseLong(arguments[1]);
        long keys = Long.parseLong(arguments[2]);
        long window = Long.parseLong(arguments[3]);
        int parallelism = Integer.parseInt(arguments[4]);
        long warmUp = Long.parseLong(arguments[5]);
        int runs = Integer.parseInt(arguments[6]);
        Duration lateness = Duration.ofMillis(Long.parseLong(arguments[7]));
        if (warmUp > 0) {
            job(query, warmUp, keys, window, parallelism, lateness);
        }
        for (int run = 0; run < runs; run++) {
            System.out.println(job(query, events, keys, window, parallelism, lateness));
        }
    }

    private static String job(
            String query, long events, long keys, long window, int parallelism, Duration lateness) throws Exception {
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment();
        environment.setParallelism(parallelism);
        environment.getConfig().enableObjectReuse();
        // Each source task makes one stretch of the numbers; spread over the stream, so that the tasks' times go together.
        long stretch = (events + parallelism - 1) / parallelism;
        DataStream<MadeEvent> stream =
                environment
                        .fromSequence(0, stretch * parallelism - 1)
                        .map(number -> MadeEvent.of(number % stretch * parallelism + number / stretch, keys))
                        .returns(MadeEvent.class)
                        .filter(event -> event.time < events)
                        .assignTimestampsAndWatermarks(
                                WatermarkStrategy.<MadeEvent>forBoundedOutOfOrderness(lateness)
                                        .withTimestampAssigner((event, before) -> event.time));
        Pattern<MadeEvent, ?> pattern = Queries.named(query, window);
        CEP.pattern(stream.keyBy(event -> event.key, Types.LONG), pattern)
                .inEventTime()
                .process(new Count(), Types.LONG)
                .sinkTo(new DiscardingSink<>());
        OperatingSystemMXBean process = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        long cpu = process.getProcessCpuTime();
        long begun = System.nanoTime();
        environment.execute();
        double elapsed = (System.nanoTime() - begun) / 1e9;
        return String.format(
                "{\"cpu\": %.3f, \"elapsed\": %.3f, \"matches\": %d, \"starts\": %d, \"ends\": %d, \"memory\": %d}",
                (process.getProcessCpuTime() - cpu) / 1e9,
                elapsed,
                Count.MATCHES.sumThenReset(),
                Count.STARTS.sumThenReset(),
                Count.ENDS.sumThenReset(),
                peakMemory());
    }

    /** The most bytes that this JVM has had in memory. */
    private static long peakMemory() throws Exception {
        Path status = Path.of("/proc/self/status");
        try (BufferedReader lines = Files.newBufferedReader(status)) {
            return lines.lines()
                    .filter(line -> line.startsWith("VmHWM"))
                    .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")) * 1024)
                    .sum();
        }
    }

    /** Counts the matches, and adds up when they begin and end; all tasks run in this JVM. */
    private static final class Count extends PatternProcessFunction<MadeEvent, Long> {
        private static final long serialVersionUID = 1L;
        static final LongAdder MATCHES = new LongAdder();
        static final LongAdder STARTS = new LongAdder();
        static final LongAdder ENDS = new LongAdder();

        @Override
        public void processMatch(Map<String, List<MadeEvent>> match, Context context, Collector<Long> out) {
            long first = Long.MAX_VALUE;
            long last = Long.MIN_VALUE;
            for (List<MadeEvent> events : match.values()) {
                for (MadeEvent event : events) {
                    first = Math.min(first, event.time);
                    last = Math.max(last, event.time);
                }
            }
            MATCHES.increment();
            STARTS.add(first);
            ENDS.add(last);
            out.collect(last);
        }
    }
}
