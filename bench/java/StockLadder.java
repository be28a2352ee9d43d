import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.cep.CEP;
import org.apache.flink.cep.functions.PatternProcessFunction;
import org.apache.flink.cep.nfa.aftermatch.AfterMatchSkipStrategy;
import org.apache.flink.cep.pattern.Pattern;
import org.apache.flink.cep.pattern.conditions.SimpleCondition;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.util.Collector;

/**
 * FlinkCEP on a file of stock trades (lines type,name,milliseconds): a sequence of trades, each followed by any.
 *
 * <p>Arguments: the file, the window in milliseconds, the trades ("BUY QQQ"). Prints CPU seconds of the job and the
 * number of matches as JSON.
 */
public final class StockLadder {
    private StockLadder() {}

    /** A trade, by its line. */
    public static class Trade {
        public String kind;
        public long line;
        public long time;
    }

    public static void main(String[] arguments) throws Exception {
        List<Trade> trades = new ArrayList<>();
        for (String text : Files.readAllLines(Path.of(arguments[0]))) {
            String[] parts = text.split(",");
            Trade trade = new Trade();
            trade.kind = parts[0] + " " + parts[1];
            trade.line = trades.size();
            trade.time = Long.parseLong(parts[2]);
            trades.add(trade);
        }
        Pattern<Trade, Trade> pattern = null;
        for (int index = 2; index < arguments.length; index++) {
            String wanted = arguments[index];
            String name = "e" + index;
            pattern =
                    (pattern == null
                                    ? Pattern.<Trade>begin(name, AfterMatchSkipStrategy.noSkip())
                                    : (Pattern<Trade, Trade>) pattern.followedByAny(name))
                            .where(SimpleCondition.of(trade -> trade.kind.equals(wanted)));
        }
        pattern = pattern.within(Duration.ofMillis(Long.parseLong(arguments[1])));
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment();
        environment.setParallelism(1);
        environment.getConfig().enableObjectReuse();
        CEP.pattern(
                        environment
                                .fromData(trades)
                                .assignTimestampsAndWatermarks(
                                        WatermarkStrategy.<Trade>forMonotonousTimestamps()
                                                .withTimestampAssigner((trade, before) -> trade.time))
                                .keyBy(trade -> 0L, Types.LONG),
                        pattern)
                .inEventTime()
                .process(new Count(), Types.LONG)
                .sinkTo(new DiscardingSink<>());
        OperatingSystemMXBean process = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        long cpu = process.getProcessCpuTime();
        environment.execute();
        System.out.printf(
                "{\"cpu\": %.3f, \"matches\": %d}%n", (process.getProcessCpuTime() - cpu) / 1e9, Count.MATCHES.sum());
    }

    private static final class Count extends PatternProcessFunction<Trade, Long> {
        private static final long serialVersionUID = 1L;
        static final LongAdder MATCHES = new LongAdder();

        @Override
        public void processMatch(Map<String, List<Trade>> match, Context context, Collector<Long> out) {
            MATCHES.increment();
            out.collect(1L);
        }
    }
}
